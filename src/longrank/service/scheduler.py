"""Run all models in one thread, in batches that mix requests.

    key of a job = arrival + cost / rate        the time at which the job would be done if it were alone

Jobs are served in the order of their keys: a small job overtakes a large job that arrived a little earlier. No job
starves, since the key of a later job is never before its arrival. A batch takes units of the first job and is filled up
with units of the next jobs with the same scorer. Jobs past their deadline and jobs of clients that have left are
dropped before the next batch.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from bisect import insort
from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from longrank.errors import LongRankError
from longrank.protocols import PassageScorer, PassageScores, ScoringTask
from longrank.service.awaited import Awaited, Call
from longrank.service.errors import LATE, Refusal, stopping
from longrank.service.freed_memory import FreedMemory
from longrank.service.speed import Speed

if TYPE_CHECKING:
    from longrank.service.metrics import Metrics

T = TypeVar("T")

_DEFAULT_RATE = 2000.0  # tokens per second before a rate is measured; it only orders jobs
_PARTS = 8  # of a full batch: the first batches of a job with little time
_POLL_SECONDS = 0.001  # while the thread ends


class Unit(NamedTuple):
    """Passages of a document that are scored together, with their estimated tokens (at least 1)."""

    scorer: PassageScorer
    task: ScoringTask
    tokens: int


class _Job(Awaited[list[PassageScores]]):
    """A request; its units are made right before its first batch."""

    def __init__(
        self,
        prepare: Callable[[], Sequence[Unit]],
        cost: int,
        deadline: float,
        key: tuple[float, int],
        *,
        hurried: bool = False,
    ) -> None:
        super().__init__(deadline)
        self.key, self.cost, self.hurried = key, cost, hurried
        self.answered = False
        self._prepare: Callable[[], Sequence[Unit]] | None = prepare
        self._units: deque[tuple[int, Unit]] = deque()
        self._scores: dict[int, PassageScores] = {}
        self._n = self._tokens = 0
        self.left = float(cost)

    def units(self) -> deque[tuple[int, Unit]]:
        """Return the units that wait, with their places; none if nobody waits for the job."""
        if self._prepare is not None and not self.gone:
            prepare, self._prepare = self._prepare, None
            try:
                self._units = deque(enumerate(prepare()))
            except BaseException as error:  # fails this job; the thread goes on
                self.fail(error)
            self._n, self._tokens = len(self._units), sum(unit.tokens for _, unit in self._units)
            self._answer_if_done()
        return deque() if self.answered or self.gone else self._units

    def scored(self) -> dict[int, PassageScores]:
        """Return the scores of the units that are scored by now, by their places."""
        return dict(self._scores)

    def share(self, unit: Unit) -> float:
        """Return a unit's share of the job's cost."""
        return self.cost * unit.tokens / max(1, self._tokens)

    def keep(self, place: int, unit: Unit, scores: PassageScores) -> None:
        """Keep the scores of a unit."""
        self._scores[place] = scores
        self.left -= self.share(unit)
        self._answer_if_done()

    def fail(self, error: BaseException) -> None:
        """Fail the job with an error."""
        self.answered = True
        super().fail(error)

    def _answer_if_done(self) -> None:
        if len(self._scores) == self._n and not self.answered:
            self.answered = True
            self.give([self._scores[place] for place in range(self._n)])


_Part: TypeAlias = tuple[_Job, int, Unit]


class Scheduler:
    """Runs the models for all requests; its methods are called on the event loop.

    Args:
        batch_tokens: estimated tokens of a batch.
        metrics: counts batches and tokens.
    """

    def __init__(self, *, batch_tokens: int, metrics: Metrics | None = None) -> None:
        self._batch_tokens, self._metrics = batch_tokens, metrics
        self._changed = threading.Condition()
        self._calls: deque[Call[Any]] = deque()
        self._jobs: list[_Job] = []
        self._closed = False
        self._numbers = count()
        self._speed, self._memory = Speed(), FreedMemory()
        self._thread = threading.Thread(target=self._serve, name="longrank-models", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    @property
    def rate(self) -> float | None:
        """Tokens per second, in the unit of costs; None if too little was measured lately."""
        return self._speed.rate(time.monotonic())

    @property
    def waiting_tokens(self) -> int:
        """Cost of all waiting jobs."""
        return self._waiting(math.inf)

    def waiting_before(self, cost: int) -> int:
        """Return the cost of the jobs that would be scored before a new job of this cost."""
        return self._waiting(self._key(cost))

    async def scores(
        self, prepare: Callable[[], Sequence[Unit]], *, cost: int, deadline: float, since: float | None = None
    ) -> list[PassageScores]:
        """Return the scores of each unit, in order.

        Args:
            prepare: returns the units; called in the model thread, right before the job's first batch.
            cost: estimated tokens.
            deadline: time of `time.monotonic` until which the scores are useful.
            since: time of the request's arrival, if it has had another job; None: now.

        Raises:
            Refusal: 504, the deadline passes; 503, the scheduler is closed.
            Exception: what `prepare` or the scorer raises for this job.
        """
        return await self._entered(prepare, cost, deadline, since).result()

    async def scores_by(
        self, prepare: Callable[[], Sequence[Unit]], *, cost: int, deadline: float, since: float | None = None
    ) -> dict[int, PassageScores]:
        """Return the scores of the units that are scored until the deadline, by their places; first units first.

        Batches get smaller towards the deadline: a batch that is not done by then is lost.

        Args:
            prepare, cost, since: as of `scores`.
            deadline: time of `time.monotonic` at which it returns, at the latest.

        Raises:
            Refusal: 503, the scheduler is closed.
            Exception: what `prepare` or the scorer raises for this job.
        """
        job = self._entered(prepare, cost, deadline, since, hurried=True)
        try:
            await job.result()
        except Refusal as refusal:
            if refusal.code != LATE:
                raise
        return job.scored()

    def _entered(
        self,
        prepare: Callable[[], Sequence[Unit]],
        cost: int,
        deadline: float,
        since: float | None,
        *,
        hurried: bool = False,
    ) -> _Job:
        job = _Job(prepare, cost, deadline, (self._key(cost, since), next(self._numbers)), hurried=hurried)
        with self._changed:
            self._refuse_if_closed()
            insort(self._jobs, job, key=lambda job: job.key)
            self._changed.notify()
        return job

    async def run(self, work: Callable[[], T], *, deadline: float) -> T:
        """Call a short function in the model thread, before the next batch.

        Raises:
            Refusal: 504, the deadline passes; 503, the scheduler is closed.
            Exception: what `work` raises.
        """
        call = Call(work, deadline)
        with self._changed:
            self._refuse_if_closed()
            self._calls.append(call)
            self._changed.notify()
        return await call.result()

    async def close(self) -> None:
        """Finish all jobs, then end the thread; later jobs are refused."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        while self._thread.is_alive():
            await asyncio.sleep(_POLL_SECONDS)
        left: tuple[Awaited[Any], ...] = (*self._calls, *self._jobs)
        for waiting in left:  # the thread was never started
            waiting.fail(stopping())

    def _key(self, cost: int, since: float | None = None) -> float:
        return (time.monotonic() if since is None else since) + cost / (self.rate or _DEFAULT_RATE)

    def _waiting(self, key: float) -> int:
        jobs = [job for job in list(self._jobs) if job.key[0] <= key]
        return int(sum(job.left for job in jobs if not job.gone and not job.answered))

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise stopping()

    def _serve(self) -> None:
        """Run the thread until the scheduler is closed and all jobs are done."""
        while self._step():
            pass

    def _step(self) -> bool:
        """Run a call or a batch, or wait for one; keep no finished job. Returns False when closed and done."""
        with self._changed:
            self._jobs = [job for job in self._jobs if not (job.answered or job.gone)]
            self._changed.wait_for(lambda: self._calls or self._jobs or self._closed)
            call = self._calls.popleft() if self._calls else None
            jobs = list(self._jobs)
        if call is not None:
            call.do()
        elif jobs:
            started = time.perf_counter()
            if batch := self._batch(jobs):
                self._score(batch, started)
            self._memory.give_back()
        return call is not None or bool(jobs)

    def _batch(self, jobs: Sequence[_Job]) -> list[_Part]:
        """Return the next units, in the order of jobs: one scorer, at least one unit, at most `batch_tokens`."""
        batch: list[_Part] = []
        room = self._batch_tokens
        for job in jobs:
            units = job.units()
            if job.hurried and units:
                room = min(room, self._hurried_tokens(job.deadline))
            while units and (not batch or units[0][1].scorer is batch[0][2].scorer):
                if batch and units[0][1].tokens > room:
                    return batch
                place, unit = units.popleft()
                batch.append((job, place, unit))
                room -= unit.tokens
        return batch

    def _hurried_tokens(self, deadline: float) -> int:
        """Return the tokens of half the time to the deadline; few while the speed is not known."""
        rate, left = self.rate, deadline - time.monotonic()
        return self._batch_tokens // _PARTS if rate is None else max(1, int(rate * left / 2))

    def _score(self, batch: Sequence[_Part], started: float) -> None:
        """Score units of one scorer; if that fails, score each job's units separately."""
        jobs = list(dict.fromkeys(job for job, _, _ in batch))
        error: BaseException | None = None
        try:
            results = _scores(batch)
        except BaseException as raised:  # the thread goes on
            error = raised
        if error is None:
            self._count(batch, time.perf_counter() - started)
            for (job, place, unit), scores in zip(batch, results, strict=True):
                job.keep(place, unit, scores)
        elif len(jobs) == 1:
            jobs[0].fail(error)
        else:
            for job in jobs:
                if not job.gone:
                    self._score([part for part in batch if part[0] is job], time.perf_counter())

    def _count(self, batch: Sequence[_Part], seconds: float) -> None:
        self._speed.add(sum(job.share(unit) for job, _, unit in batch), seconds, time.monotonic())
        if self._metrics is not None:
            self._metrics.batch(sum(unit.tokens for _, _, unit in batch), seconds)


def _scores(batch: Sequence[_Part]) -> list[PassageScores]:
    results = batch[0][2].scorer.score([unit.task for _, _, unit in batch])
    if len(results) != len(batch):
        raise LongRankError(f"the scorer returned {len(results)} results for {len(batch)} tasks")
    return results
