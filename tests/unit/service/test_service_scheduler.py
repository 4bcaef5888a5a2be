"""The model thread: order, mixing, overtaking, dropping, and its end."""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections.abc import Callable, Coroutine, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longrank.protocols import PassageScores, ScoringTask
from longrank.service import scheduler as module
from longrank.service.errors import LATE, Refusal
from longrank.service.scheduler import Scheduler, Unit
from longrank.types import Passage, Query

LONG = 60.0  # seconds; nothing here takes as long


class Scorer:
    """Scores a passage by the length of its document's id; remembers the documents of each call."""

    unit = fingerprint = "fake"

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
        self.batches.append([task.doc_id for task in tasks])
        for task in tasks:
            if task.doc_id.startswith("bad"):
                raise ValueError(task.doc_id)
        return [expected(task.doc_id) for task in tasks]


class Gated(Scorer):
    """Scores a batch only when it is let through."""

    def __init__(self) -> None:
        super().__init__()
        self._begun, self._gate = threading.Semaphore(0), threading.Semaphore(0)

    def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
        self._begun.release()
        assert self._gate.acquire(timeout=LONG)
        return super().score(tasks)

    async def begun(self) -> None:
        """Wait until one more batch has begun."""
        assert await asyncio.to_thread(self._begun.acquire, timeout=LONG)

    def let(self, n: int = 1) -> None:
        """Let `n` batches through, begun or not."""
        self._gate.release(n)


def expected(doc_id: str) -> PassageScores:
    return PassageScores(np.array([len(doc_id)], np.float32), np.zeros(1, np.bool_))


def unit(scorer: Scorer, doc_id: str, tokens: int = 10) -> Unit:
    return Unit(
        scorer, ScoringTask(Query("q", "query"), doc_id, (Passage(doc_id, 0, "text", 0, 4),), ("text",)), tokens
    )


def job(
    scheduler: Scheduler,
    units: Sequence[Unit],
    *,
    cost: int | None = None,
    seconds: float = LONG,
    since: float | None = None,
) -> asyncio.Task[list[PassageScores]]:
    """Ask for scores; what is asked first has arrived first."""
    options: dict[str, Any] = {"deadline": time.monotonic() + seconds, "since": since}
    options["cost"] = sum(one.tokens for one in units) if cost is None else cost
    return asyncio.create_task(scheduler.scores(lambda: units, **options))


def run(test: Callable[[Scheduler], Coroutine[Any, Any, None]], *, batch_tokens: int = 10) -> None:
    """Run a test with a scheduler that it may start; the thread has ended afterwards."""

    async def whole() -> None:
        scheduler = Scheduler(batch_tokens=batch_tokens)
        try:
            await test(scheduler)
        finally:
            await scheduler.close()

    before = threading.enumerate()  # other tests may have left servers open
    asyncio.run(whole())
    assert not [one for one in threading.enumerate() if one.name == "longrank-models" and one not in before]


def lengths(scores: Sequence[PassageScores]) -> list[int]:
    return [int(one.scores[0]) for one in scores]


def test_scores_come_back_in_the_order_of_units_whatever_the_batches() -> None:
    async def test(scheduler: Scheduler) -> None:
        scheduler.start()
        units = [unit(scorer, "x" * n, tokens=n) for n in (7, 1, 5, 3, 20, 2)]
        assert lengths(await job(scheduler, units)) == [7, 1, 5, 3, 20, 2]

    scorer = Scorer()
    run(test)
    assert [len(batch) for batch in scorer.batches] == [2, 2, 1, 1]  # 7+1, 5+3, 20 alone, 2


def test_a_batch_is_filled_up_with_units_of_later_jobs_of_the_same_scorer() -> None:
    async def test(scheduler: Scheduler) -> None:
        jobs = [job(scheduler, [unit(one, name, tokens=4)]) for name, one in asked]
        await asyncio.sleep(0)
        scheduler.start()
        await asyncio.gather(*jobs)

    scorer, other = Scorer(), Scorer()
    asked = [("a", scorer), ("b", other), ("c", scorer), ("d", scorer), ("e", other)]
    run(test)
    assert scorer.batches == [["a", "c"], ["d"]]
    assert other.batches == [["b", "e"]]


def test_a_job_without_units_has_no_scores() -> None:
    async def test(scheduler: Scheduler) -> None:
        scheduler.start()
        assert await job(scheduler, []) == []

    run(test)


def test_a_small_job_overtakes_a_large_one_that_came_before_it() -> None:
    async def test(scheduler: Scheduler) -> None:
        scheduler.start()
        first = job(scheduler, [unit(scorer, "first")])
        await scorer.begun()
        large = job(scheduler, [unit(scorer, f"large {n}") for n in range(3)], cost=1_000_000)
        await asyncio.sleep(0)
        assert scheduler.waiting_tokens == 1_000_010
        assert scheduler.waiting_before(10) == 10
        assert scheduler.waiting_before(1_100_000) == 1_000_010
        small = job(scheduler, [unit(scorer, "small")], cost=10)
        await asyncio.sleep(0)
        scorer.let(5)
        await asyncio.gather(first, large, small)

    scorer = Gated()
    run(test)
    assert [name for (name,) in scorer.batches] == ["first", "small", "large 0", "large 1", "large 2"]


def test_the_second_job_of_a_request_keeps_the_place_of_its_arrival() -> None:
    async def test(scheduler: Scheduler) -> None:
        scheduler.start()
        arrival = time.monotonic()
        first = job(scheduler, [unit(scorer, "first")])
        await scorer.begun()
        later = [job(scheduler, [unit(scorer, f"later {n}")], cost=10_000) for n in range(2)]
        await asyncio.sleep(0)
        second = job(scheduler, [unit(scorer, "second")], cost=10_000, since=arrival)
        await asyncio.sleep(0)
        scorer.let(4)
        await asyncio.gather(first, second, *later)

    scorer = Gated()
    run(test)
    assert [name for (name,) in scorer.batches] == ["first", "second", "later 0", "later 1"]


def test_a_large_job_is_done_although_small_ones_never_stop_coming(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch takes 0.1 s of a made-up clock; alone, at 2,000 tokens a second, the large job would be done at 1 s."""
    clock = [0.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock[0], perf_counter=lambda: 0.0))

    async def test(scheduler: Scheduler) -> None:
        scheduler.start()
        jobs = [job(scheduler, [unit(scorer, "small")])]
        await scorer.begun()
        large = job(scheduler, [unit(scorer, "large")], cost=2000)
        while not large.done():
            jobs.append(job(scheduler, [unit(scorer, "small")]))
            await asyncio.sleep(0)
            clock[0] += 0.1
            scorer.let()
            await scorer.begun()
        scorer.let(1000)
        await asyncio.gather(*jobs)

    scorer = Gated()
    run(test)
    assert 5 <= scorer.batches.index(["large"]) <= 12


def test_a_job_whose_deadline_passes_is_told_so_at_once_and_never_scored() -> None:
    async def test(scheduler: Scheduler) -> None:
        scheduler.start()
        first = job(scheduler, [unit(scorer, "first")])
        await scorer.begun()
        with pytest.raises(Refusal) as refused:
            await scheduler.scores(
                lambda: [unit(scorer, "late")], cost=1, deadline=time.monotonic() + 0.01
            )  # while the first batch is still being computed
        assert (refused.value.status, refused.value.code) == (504, "deadline")
        assert scheduler.waiting_tokens == 10
        scorer.let(2)
        await first

    scorer = Gated()
    run(test)
    assert scorer.batches == [["first"]]


def test_a_job_that_is_cancelled_stops_within_one_batch() -> None:
    async def test(scheduler: Scheduler) -> None:
        scheduler.start()
        large = job(scheduler, [unit(scorer, f"large {n}") for n in range(5)])
        await scorer.begun()
        large.cancel()
        await asyncio.wait([large])
        assert large.cancelled()
        assert scheduler.waiting_tokens == 0
        scorer.let(9)
        await job(scheduler, [unit(scorer, "next")])

    scorer = Gated()
    run(test)
    assert scorer.batches == [["large 0"], ["next"]]


def test_a_unit_that_fails_fails_its_own_job_only() -> None:
    async def test(scheduler: Scheduler) -> None:
        good, bad, good_too = (job(scheduler, [unit(scorer, name, 3)]) for name in ("good", "bad", "good too"))
        await asyncio.sleep(0)
        scheduler.start()
        await asyncio.wait([good, bad, good_too])
        assert lengths(good.result()) == [4]
        assert lengths(good_too.result()) == [8]
        with pytest.raises(ValueError, match="bad"):
            bad.result()

    scorer = Scorer()
    run(test)
    assert scorer.batches == [["good", "bad", "good too"], ["good"], ["bad"], ["good too"]]


def test_a_failed_job_is_not_scored_any_further() -> None:
    async def test(scheduler: Scheduler) -> None:
        scheduler.start()
        with pytest.raises(ValueError, match="bad"):
            await job(scheduler, [unit(scorer, "bad"), unit(scorer, "after it")])
        await job(scheduler, [unit(scorer, "next")])

    scorer = Scorer()
    run(test)
    assert scorer.batches == [["bad"], ["next"]]


class Panic(BaseException):
    """As the panics of libraries written in Rust are."""


@pytest.mark.parametrize("error", [KeyError("no"), StopIteration(), Panic("rust"), SystemExit(3)])
def test_whatever_is_raised_in_the_thread_is_an_exception_of_its_job_and_the_thread_goes_on(
    error: BaseException,
) -> None:
    def fail() -> list[Unit]:
        raise error

    async def test(scheduler: Scheduler) -> None:
        scheduler.start()
        for asked in (
            scheduler.scores(fail, cost=1, deadline=time.monotonic() + LONG),
            scheduler.run(fail, deadline=time.monotonic() + LONG),
        ):
            with pytest.raises(Exception) as raised:
                await asked
            assert error in (raised.value, raised.value.__cause__)
        assert lengths(await job(scheduler, [unit(Scorer(), "next")])) == [4]

    run(test)


def test_a_scorer_that_returns_too_little_is_an_error() -> None:
    class Short(Scorer):
        def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
            return super().score(tasks)[1:]

    async def test(scheduler: Scheduler) -> None:
        scheduler.start()
        with pytest.raises(Exception, match="0 results for 1 tasks"):
            await job(scheduler, [unit(Short(), "a")])

    run(test)


def test_short_work_goes_before_the_next_batch() -> None:
    async def test(scheduler: Scheduler) -> None:
        scheduler.start()
        large = job(scheduler, [unit(scorer, f"large {n}") for n in range(2)])
        await scorer.begun()
        work = asyncio.create_task(
            scheduler.run(lambda: scorer.batches.append(["work"]), deadline=time.monotonic() + LONG)
        )
        await asyncio.sleep(0)
        scorer.let(2)
        await asyncio.gather(large, work)

    scorer = Gated()
    run(test)
    assert scorer.batches == [["large 0"], ["work"], ["large 1"]]


def test_short_work_whose_deadline_passes_is_never_done() -> None:
    async def test(scheduler: Scheduler) -> None:
        with pytest.raises(Refusal, match="deadline"):
            await scheduler.run(lambda: done.append(1), deadline=time.monotonic())
        scheduler.start()
        await scheduler.run(lambda: done.append(2), deadline=time.monotonic() + LONG)

    done: list[int] = []
    run(test)
    assert done == [2]


def test_what_is_done_is_forgotten_while_the_thread_waits() -> None:
    async def test(scheduler: Scheduler) -> None:
        scheduler.start()
        (result,) = await job(scheduler, [unit(Scorer(), "a")])
        scores = weakref.ref(result.scores)
        del result
        while scores() is not None:  # the thread is about to wait, or does
            await asyncio.sleep(0.001)

    run(test)


def test_closing_finishes_what_is_there_and_refuses_what_comes_later() -> None:
    async def test(scheduler: Scheduler) -> None:
        scheduler.start()
        jobs = [job(scheduler, [unit(scorer, f"{n} {m}") for m in range(3)]) for n in range(4)]
        await scorer.begun()
        closing = asyncio.create_task(scheduler.close())
        await asyncio.sleep(0)
        for asked in (job(scheduler, []), scheduler.run(int, deadline=time.monotonic() + LONG)):
            with pytest.raises(Refusal) as refused:
                await asked
            assert (refused.value.status, refused.value.code) == (503, "stopping")
        scorer.let(12)
        await closing
        assert [len(await one) for one in jobs] == [3] * 4

    scorer = Gated()
    run(test)


def test_closing_a_scheduler_that_was_never_started_leaves_nobody_waiting() -> None:
    async def test(scheduler: Scheduler) -> None:
        waiting = job(scheduler, [unit(Scorer(), "a")])
        await asyncio.sleep(0)
        await scheduler.close()
        with pytest.raises(Refusal, match="stopping"):
            await waiting

    run(test)


def test_the_thread_outlives_an_event_loop_that_is_closed_meanwhile() -> None:
    async def leave() -> None:
        scheduler.start()
        job(scheduler, [unit(scorer, "left behind")])
        await scorer.begun()

    async def come_back() -> None:
        scorer.let(2)
        await job(scheduler, [unit(scorer, "next")])
        await scheduler.close()

    scorer, scheduler = Gated(), Scheduler(batch_tokens=10)
    asyncio.run(leave())
    asyncio.run(come_back())
    assert scorer.batches == [["left behind"], ["next"]]


def test_what_waits_and_how_fast_it_goes_are_counted_as_costs_are() -> None:
    """Four units of 10 tokens are said to cost 400, so each is a quarter of that."""

    async def test(scheduler: Scheduler) -> None:
        scheduler.start()
        assert scheduler.rate is None
        large = job(scheduler, [unit(scorer, str(n)) for n in range(4)], cost=400)
        for left in (400, 300, 200, 100):
            await scorer.begun()
            assert scheduler.waiting_tokens == left
            scorer.let()
        await large
        assert scheduler.waiting_tokens == 0

    scorer = Gated()
    run(test)


def test_the_rate_is_that_of_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch of cost 300 takes 2 s of a made-up clock."""
    clock = [0.0]

    def tick() -> float:
        clock[0] += 2
        return clock[0]

    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock[0], perf_counter=tick))

    async def test(scheduler: Scheduler) -> None:
        scheduler.start()
        await job(scheduler, [unit(Scorer(), "a")], cost=300)
        assert scheduler.rate == pytest.approx(150)

    run(test)


FATES = {"cancelled": asyncio.CancelledError, "late": Refusal, "unprepared": KeyError, "bad": ValueError}


class Asked(NamedTuple):
    """A job of a random schedule: what is to happen to it, and scorer and tokens of its units."""

    fate: str
    parts: list[tuple[int, int]]

    def units(self, n: int, scorers: Sequence[Scorer]) -> list[Unit]:
        if self.fate == "unprepared":
            raise KeyError(n)
        return [
            unit(scorers[which], f"{self.fate} {n} {tokens} {'x' * m}", tokens)
            for m, (which, tokens) in enumerate(self.parts)
        ]

    def is_answered(self, n: int, result: object) -> bool:
        if self.fate in FATES:
            return type(result) is FATES[self.fate]
        own = [len(one.task.doc_id) for one in self.units(n, (Scorer(), Scorer()))]
        return isinstance(result, list) and lengths(result) == own

    async def ask(self, scheduler: Scheduler, n: int, scorers: Sequence[Scorer]) -> list[PassageScores]:
        deadline = time.monotonic() + (0 if self.fate == "late" else LONG)
        return await scheduler.scores(lambda: self.units(n, scorers), cost=len(self.parts), deadline=deadline)


@pytest.mark.timeout(600)  # a thread for each schedule: seconds, but minutes where others want the cores
@settings(max_examples=400, deadline=None)
@given(
    asked=st.lists(
        st.builds(
            Asked,
            st.sampled_from(["done", "done", "done", *FATES]),
            st.lists(st.tuples(st.integers(0, 1), st.integers(1, 30)), min_size=1, max_size=6),
        ),
        max_size=8,
    ),
    batch_tokens=st.integers(1, 60),
    started=st.booleans(),
)
def test_any_schedule_gives_each_job_what_it_would_get_alone(
    asked: list[Asked], batch_tokens: int, started: bool
) -> None:
    scorers = (Scorer(), Scorer())

    async def test(scheduler: Scheduler) -> None:
        if started:
            scheduler.start()
        jobs = [asyncio.create_task(one.ask(scheduler, n, scorers)) for n, one in enumerate(asked)]
        if not started:
            await asyncio.sleep(0)  # all are in the queue
        for one, waiting in zip(asked, jobs, strict=True):
            if one.fate == "cancelled":
                waiting.cancel()
        await asyncio.sleep(0)
        if not started:
            scheduler.start()
        results = await asyncio.gather(*jobs, return_exceptions=True)
        assert all(one.is_answered(n, result) for n, (one, result) in enumerate(zip(asked, results, strict=True)))

    run(test, batch_tokens=batch_tokens)
    for batch in scorers[0].batches + scorers[1].batches:
        assert len(batch) == 1 or sum(int(name.split()[2]) for name in batch) <= batch_tokens
        assert not any(name.startswith(("late", "cancelled")) for name in batch)
    scored = [name for one in scorers for batch in one.batches for name in batch]
    assert len(set(scored)) == len(scored) or any(one.fate == "bad" for one in asked)


def test_a_deadline_keeps_the_scores_of_the_units_that_are_done() -> None:
    async def test(scheduler: Scheduler) -> None:
        scorer = Gated()
        scorer.let(1)
        units = [unit(scorer, "x" * n) for n in (3, 1, 2)]
        asking = scheduler.scores_by(lambda: units, cost=30, deadline=time.monotonic() + LONG)
        waiting = asyncio.create_task(asking)
        scheduler.start()
        await scorer.begun()
        await scorer.begun()  # the second batch: the first is scored
        scheduler._jobs[0].fail(Refusal(504, LATE, "the time is up"))
        found = await waiting
        assert {place: int(scores.scores[0]) for place, scores in found.items()} == {0: 3}
        scorer.let(2)

    run(test)


def test_a_deadline_before_the_first_batch_gives_nothing() -> None:
    async def test(scheduler: Scheduler) -> None:
        made: list[int] = []
        found = await scheduler.scores_by(lambda: made.append(1) or [], cost=1, deadline=time.monotonic())
        scheduler.start()
        assert (found, made) == ({}, [])

    run(test)
