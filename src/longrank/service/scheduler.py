"""One thread runs all models, and chooses between two batches what comes next.

    a job's key = its arrival + cost / rate        when it would be done if it were alone

Jobs go by their keys: a small one overtakes a large one that came a little earlier, and since no key lies before its
job's arrival, whatever waits will be older than all that is still to come: nobody starves. A batch takes what fits of
the first job and is filled up from the next ones that ask the same scorer. Jobs whose deadline has passed, or whose
client has left, are dropped before the next batch.
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
from longrank.service.awaited import Awaited
from longrank.service.errors import stopping
from longrank.service.speed import Speed

if TYPE_CHECKING:
    from longrank.service.metrics import Metrics

T = TypeVar("T")

_LIKELY_RATE = 2000.0  # tokens per second, where none is known; it only orders jobs
_LOOK = 0.001  # seconds between looks at a thread that is ending


class Unit(NamedTuple):
    """What is scored in one go: (a part of) a document's passages, and an estimate of their tokens, 1 or more."""

    scorer: PassageScorer
    task: ScoringTask
    tokens: int


class _Job(Awaited[list[PassageScores]]):
    """A request's units, known from its first batch on."""

    def __init__(self, prepare: Callable[[], Sequence[Unit]], cost: int, deadline: float, key: tuple[float, int]):
        super().__init__(deadline)
        self.key, self.cost = key, cost
        self.answered = False
        self._prepare: Callable[[], Sequence[Unit]] | None = prepare
        self._units: deque[tuple[int, Unit]] = deque()
        self._scores: dict[int, PassageScores] = {}
        self._n = self._tokens = 0
        self.left = float(cost)

    def units(self) -> deque[tuple[int, Unit]]:
        """Return those that are in no batch yet, with their places; none of a job that nobody waits for."""
        if self._prepare is not None and not self.gone:
            prepare, self._prepare = self._prepare, None
            try:
                self._units = deque(enumerate(prepare()))
            except BaseException as error:  # whatever it is: it is this job's, and the thread goes on
                self.fail(error)
            self._n, self._tokens = len(self._units), sum(unit.tokens for _, unit in self._units)
            self._answer_if_done()
        return deque() if self.answered or self.gone else self._units

    def share(self, unit: Unit) -> float:
        """Return a unit's tokens on the scale of the job's cost."""
        return self.cost * unit.tokens / max(1, self._tokens)

    def keep(self, place: int, unit: Unit, scores: PassageScores) -> None:
        """Take the scores of a unit."""
        self._scores[place] = scores
        self.left -= self.share(unit)
        self._answer_if_done()

    def fail(self, error: BaseException) -> None:
        """Answer with an error."""
        self.answered = True
        super().fail(error)

    def _answer_if_done(self) -> None:
        if len(self._scores) == self._n and not self.answered:
            self.answered = True
            self.give([self._scores[place] for place in range(self._n)])


class _Errand(Awaited[T]):
    """A short piece of work."""

    def __init__(self, work: Callable[[], T], deadline: float) -> None:
        super().__init__(deadline)
        self._work = work

    def do(self) -> None:
        """Do it, if it is still wanted."""
        if self.gone:
            return
        try:
            self.give(self._work())
        except BaseException as error:
            self.fail(error)


_Part: TypeAlias = tuple[_Job, int, Unit]


class Scheduler:
    """Runs the models for all requests; its methods are called on the event loop.

    Args:
        batch_tokens: estimated tokens that are scored between two looks at who is waiting or has left.
        metrics: counts batches and tokens.
    """

    def __init__(self, *, batch_tokens: int, metrics: Metrics | None = None) -> None:
        self._batch_tokens, self._metrics = batch_tokens, metrics
        self._changed = threading.Condition()
        self._errands: deque[_Errand[Any]] = deque()
        self._jobs: list[_Job] = []
        self._closed = False
        self._numbers = count()
        self._speed = Speed()
        self._thread = threading.Thread(target=self._serve, name="longrank-models", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    @property
    def rate(self) -> float | None:
        """Tokens per second of work, as costs count them; None while too little has been measured lately."""
        return self._speed.rate(time.monotonic())

    @property
    def waiting_tokens(self) -> int:
        """The cost of all that is still to be scored."""
        return self._waiting(math.inf)

    def waiting_before(self, cost: int) -> int:
        """Return the cost of all that would be scored before a job of this cost that came now."""
        return self._waiting(self._key(cost))

    async def scores(self, prepare: Callable[[], Sequence[Unit]], *, cost: int, deadline: float) -> list[PassageScores]:
        """Return the scores of each unit, in order.

        Args:
            prepare: makes the units; called in the thread of the models, right before the job's first batch.
            cost: an estimate of their tokens.
            deadline: when they are no longer wanted, of `time.monotonic`.

        Raises:
            Refusal: 504, the deadline passes; 503, the scheduler is closed.
            Exception: what `prepare` or the scorer raises for this job.
        """
        job = _Job(prepare, cost, deadline, (self._key(cost), next(self._numbers)))
        with self._changed:
            self._refuse_if_closed()
            insort(self._jobs, job, key=lambda one: one.key)
            self._changed.notify()
        return await job.result()

    async def run(self, work: Callable[[], T], *, deadline: float) -> T:
        """Do a short piece of work in the thread of the models, before the next batch.

        Raises:
            Refusal: 504, the deadline passes; 503, the scheduler is closed.
            Exception: what `work` raises.
        """
        errand = _Errand(work, deadline)
        with self._changed:
            self._refuse_if_closed()
            self._errands.append(errand)
            self._changed.notify()
        return await errand.result()

    async def close(self) -> None:
        """Finish what is there, then end the thread; what comes later is refused."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        while self._thread.is_alive():
            await asyncio.sleep(_LOOK)
        left: tuple[Awaited[Any], ...] = (*self._errands, *self._jobs)
        for one in left:  # of a thread that was never started
            one.fail(stopping())

    def _key(self, cost: int) -> float:
        return time.monotonic() + cost / (self.rate or _LIKELY_RATE)

    def _waiting(self, key: float) -> int:
        jobs = [job for job in list(self._jobs) if job.key[0] <= key]
        return int(sum(job.left for job in jobs if not job.gone and not job.answered))

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise stopping()

    def _serve(self) -> None:
        """Work until there is nothing left and the scheduler is closed: the thread."""
        while self._step():
            pass

    def _step(self) -> bool:
        """Do what is due, or wait for it, holding nothing of what was done before; False: closed, and all is done."""
        with self._changed:
            self._jobs = [job for job in self._jobs if not (job.answered or job.gone)]
            self._changed.wait_for(lambda: self._errands or self._jobs or self._closed)
            errand = self._errands.popleft() if self._errands else None
            jobs = list(self._jobs)
        if errand is not None:
            errand.do()
        elif jobs:
            self._do_batch(jobs)
        return errand is not None or bool(jobs)

    def _do_batch(self, jobs: Sequence[_Job]) -> None:
        started = time.perf_counter()
        batch = self._batch(jobs)
        if batch:
            self._score(batch, started)

    def _batch(self, jobs: Sequence[_Job]) -> list[_Part]:
        """Take the next units: in the order of jobs, of one scorer, at least one and at most `batch_tokens`."""
        batch: list[_Part] = []
        room = self._batch_tokens
        for job in jobs:
            units = job.units()
            while units and (not batch or units[0][1].scorer is batch[0][2].scorer):
                if batch and units[0][1].tokens > room:
                    return batch
                place, unit = units.popleft()
                batch.append((job, place, unit))
                room -= unit.tokens
        return batch

    def _score(self, batch: Sequence[_Part], started: float) -> None:
        """Score units of one scorer; if that fails, those of each job by themselves."""
        jobs = list(dict.fromkeys(job for job, _, _ in batch))
        error: BaseException | None = None
        try:
            found = _scores(batch)
        except BaseException as raised:  # whatever it is: the thread goes on
            error = raised
        if error is None:
            self._count(batch, time.perf_counter() - started)
            for (job, place, unit), scores in zip(batch, found, strict=True):
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
    found = batch[0][2].scorer.score([unit.task for _, _, unit in batch])
    if len(found) != len(batch):
        raise LongRankError(f"the scorer returned {len(found)} results for {len(batch)} tasks")
    return found
