"""Admission: refusals, their conditions and messages."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from longrank.service.admission import Admission
from longrank.service.errors import Refusal
from longrank.service.settings import ServiceSettings

FAR = 1e9  # seconds: no deadline to speak of


@dataclass
class Load:
    """What a scheduler would say."""

    rate: float | None = None
    waiting_tokens: int = 0
    least: int = 0  # a job of less goes before all others

    def waiting_before(self, cost: int) -> int:
        return self.waiting_tokens if cost >= self.least else 0


def deadline(seconds: float = FAR) -> float:
    return time.monotonic() + seconds


def refused(admission: Admission, tokens: int = 1, seconds: float = FAR) -> Refusal:
    with pytest.raises(Refusal) as found, admission.admit(tokens, deadline(seconds)):
        raise AssertionError("admitted")
    return found.value


def test_as_many_requests_as_the_settings_say_are_in_flight() -> None:
    admission = Admission(ServiceSettings(max_requests=3), Load())
    with ExitStack() as flights:
        for n in range(3):
            assert (admission.active, admission.full) == (n, False)
            flights.enter_context(admission.admit(10, deadline()))
        assert admission.full
        refusal = refused(admission)
        assert (refusal.status, refusal.code, refusal.headers) == (429, "overloaded", {"Retry-After": "1"})
        with pytest.raises(Refusal, match="overloaded"):
            admission.refuse_if_full()
    assert (admission.active, admission.full) == (0, False)
    admission.refuse_if_full()


def test_as_many_tokens_as_the_settings_say_are_in_flight() -> None:
    admission = Admission(ServiceSettings(max_tokens=100), Load())
    with admission.admit(60, deadline()):
        with admission.admit(40, deadline()):
            assert admission.full
        assert not admission.full
        assert refused(admission, 41).status == 429
        with admission.admit(40, deadline()):
            pass


def test_a_request_that_is_alone_is_admitted_whatever_it_costs_and_however_slow_it_was_before() -> None:
    admission = Admission(ServiceSettings(max_tokens=100), Load(rate=0.001, waiting_tokens=0))
    with admission.admit(1_000_000, deadline(1)):
        assert admission.full
        assert refused(admission).code == "overloaded"


def test_room_is_given_back_when_a_request_fails() -> None:
    admission = Admission(ServiceSettings(max_requests=1), Load())
    with pytest.raises(KeyError), admission.admit(10, deadline()):
        raise KeyError
    assert admission.active == 0
    with admission.admit(10, deadline()):
        pass


def test_what_cannot_be_done_in_most_of_the_time_left_is_refused() -> None:
    """At 100 tokens a second, 700 waiting and 100 of its own take 8 s: four fifths of 10 s, not of 9.5 s."""
    admission = Admission(ServiceSettings(max_wait=FAR), Load(rate=100.0, waiting_tokens=700))
    with admission.admit(700, deadline()):
        assert refused(admission, 100, seconds=9.5).code == "overloaded"
        with admission.admit(100, deadline(10.5)):
            pass


def test_nobody_waits_longer_than_the_settings_say_even_without_a_deadline() -> None:
    load = Load(rate=100.0, waiting_tokens=800)
    admission = Admission(ServiceSettings(max_wait=8.0), load)
    with admission.admit(800, deadline()), admission.admit(100_000, deadline()):
        assert not admission.full
        load.waiting_tokens = 801
        assert admission.full
        assert refused(admission).code == "overloaded"


def test_a_small_request_is_admitted_although_a_large_one_waits_if_it_will_overtake_it() -> None:
    admission = Admission(ServiceSettings(max_wait=8.0), Load(rate=100.0, waiting_tokens=5000, least=50))
    with admission.admit(5000, deadline()):
        assert not admission.full
        assert refused(admission, 50).code == "overloaded"
        with admission.admit(49, deadline(1)):
            pass


@pytest.mark.parametrize("load", [Load(rate=None, waiting_tokens=10**6), Load(rate=1.0, waiting_tokens=0)])
def test_nothing_is_predicted_where_no_rate_is_known_or_nothing_waits(load: Load) -> None:
    admission = Admission(ServiceSettings(), load)
    with admission.admit(1, deadline()), admission.admit(1000, deadline(1)):
        assert admission.active == 2


@pytest.mark.parametrize(
    ("waiting", "shown"), [(0, {1}), (200, {1, 2}), (600, {3, 4, 5, 6}), (601, {4, 5, 6, 7, 8}), (10**9, {60})]
)
def test_those_who_are_refused_come_back_one_after_the_other_when_half_to_all_of_what_waits_is_done(
    waiting: int, shown: set[int]
) -> None:
    admission = Admission(ServiceSettings(max_requests=1), Load(rate=100.0, waiting_tokens=waiting))
    with admission.admit(1, deadline()):
        assert {int(refused(admission).headers["Retry-After"]) for _ in range(10)} == shown
