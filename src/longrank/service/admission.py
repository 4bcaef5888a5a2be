"""Which rankings are begun: as many as can be held, and answered in time.

A request that would wait is refused at once with 429 and a ``Retry-After``, instead of being computed for a client
that has left. One that finds the server idle is always begun, whatever it costs and whatever was measured before.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from longrank.service.errors import Refusal
from longrank.service.settings import ServiceSettings

if TYPE_CHECKING:
    from longrank.service.metrics import Metrics

_MARGIN = 0.8  # of the time left: a prediction that fails wastes all the work it promised
_LONGEST = 60  # seconds of Retry-After


class Load(Protocol):
    """What is known of the work at hand: `longrank.service.scheduler.Scheduler`."""

    @property
    def rate(self) -> float | None:
        """Tokens per second; None: not known."""
        ...

    @property
    def waiting_tokens(self) -> int:
        """Tokens that are still to be scored."""
        ...

    def waiting_before(self, cost: int) -> int:
        """Return those that would be scored before a job of so many that came now."""
        ...


class Admission:
    """Counts the rankings in flight; all its methods are called on the event loop.

    Args:
        settings: how many, and how many tokens of them.
        scheduler: says what waits and how fast it is.
        metrics: shows what is in flight.
    """

    def __init__(self, settings: ServiceSettings, scheduler: Load, metrics: Metrics | None = None) -> None:
        self._settings, self._scheduler = settings, scheduler
        self._active = self._tokens = self._refused = 0
        if metrics is not None:
            metrics.watch(requests=lambda: self._active, tokens=lambda: scheduler.waiting_tokens)

    @property
    def active(self) -> int:
        """How many rankings are in flight."""
        return self._active

    @property
    def full(self) -> bool:
        """Whether any further request would be refused, whatever it asks."""
        return self._why_full() is not None

    def refuse_if_full(self) -> None:
        """Refuse a request of which nothing is known yet.

        Raises:
            Refusal: 429, overloaded.
        """
        if (why := self._why_full()) is not None:
            raise self._overloaded(why)

    @contextmanager
    def admit(self, tokens: int, deadline: float) -> Iterator[None]:
        """Count a ranking while it is in flight.

        Args:
            tokens: an estimate of what a model will read.
            deadline: when it is no longer wanted, of `time.monotonic`.

        Raises:
            Refusal: 429, overloaded.
        """
        self.refuse_if_full()
        if self._active:
            self._refuse_if_too_much(tokens, deadline)
        self._active += 1
        self._tokens += tokens
        try:
            yield
        finally:
            self._active -= 1
            self._tokens -= tokens

    def _why_full(self) -> str | None:
        if self._active >= self._settings.max_requests:
            return "as many rankings as it can hold are in flight"
        if self._active and self._tokens >= self._settings.max_tokens:
            return "the rankings in flight hold as much text as it can hold"
        if self._active and (wait := self._wait(0)) > self._settings.max_wait:
            return f"{wait:.0f} seconds of work are waiting"
        return None

    def _refuse_if_too_much(self, tokens: int, deadline: float) -> None:
        if self._tokens + tokens > self._settings.max_tokens:
            raise self._overloaded("with this ranking, those in flight would hold more text than it can hold")
        if (wait := self._wait(tokens)) > self._settings.max_wait:
            raise self._overloaded(f"{wait:.0f} seconds of work are waiting")
        if wait and wait + tokens / (self._scheduler.rate or math.inf) > _MARGIN * (deadline - time.monotonic()):
            raise self._overloaded("what waits before this ranking takes longer than its deadline allows")

    def _wait(self, tokens: int) -> float:
        """Return the seconds of work that wait; 0 for a ranking that goes before all of it, or if no rate is known."""
        if not self._scheduler.waiting_before(tokens):
            return 0.0
        return self._scheduler.waiting_tokens / (self._scheduler.rate or math.inf)

    def _overloaded(self, why: str) -> Refusal:
        return Refusal(429, "overloaded", f"the server is overloaded: {why}; try again later", self._retry_after())

    def _retry_after(self) -> dict[str, str]:
        """Return a whole number of seconds after which half to all of what waits is done.

        There is room again then, and still work to do; and those who are refused together do not come back together.
        """
        half = math.ceil(self._scheduler.waiting_tokens / (self._scheduler.rate or math.inf) / 2)
        self._refused += 1
        return {"Retry-After": str(max(1, min(_LONGEST, half + self._refused % (half + 1))))}
