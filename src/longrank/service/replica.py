"""A pipeline that a replica on a cluster opens for itself, with batches, limits and reloading of its own.

Its tasks are the rankings of `longrank.service.rankings`; the server that asks has the connections.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from longrank.index.stamps import stamp_of
from longrank.ranking.opening import fingerprints_of
from longrank.retrieval.stores import is_store
from longrank.service.admission import Admission
from longrank.service.engine import Engine
from longrank.service.errors import Refusal
from longrank.service.freed_memory import use_one_heap
from longrank.service.metrics import Metrics
from longrank.service.opening import open_engine
from longrank.service.rankings import Here, Search
from longrank.service.reloading import Reloader
from longrank.service.rerank import Answer, RerankRequest, Service
from longrank.service.scheduler import Scheduler
from longrank.service.served import PipelineChoice, Served
from longrank.service.settings import ServiceSettings
from longrank.storage import digest_of
from longrank.types import Notes


class Facts(NamedTuple):
    """A pipeline on a cluster, for its server: its entry of ``/info``, and the remarks of its opening."""

    described: dict[str, Any]
    notes: Notes


class Asked(NamedTuple):
    """A ranking to compute; None: the `Facts` are asked for.

    Attributes:
        server: the server that asks.
        ranking: the ranking.
        seconds: time to the deadline.
        by: time to an answer with the passages that are read by then; None: all is read.
    """

    server: str
    ranking: Search | RerankRequest | None
    seconds: float = 0.0
    by: float | None = None


@dataclass
class Counts:
    """Work of a replica since its last answer: (tokens, seconds) of batches, and cut documents."""

    batches: list[tuple[int, float]] = field(default_factory=list)
    truncated: int = 0

    def add_to(self, metrics: Metrics) -> None:
        """Add the counts to those of the server that asked."""
        for tokens, seconds in self.batches:
            metrics.batch(tokens, seconds)
        metrics.truncated(self.truncated)


class Told(NamedTuple):
    """A result or the error of the ranking, the work since the last answer, and `identity_of` the pipeline."""

    result: Any
    counts: Counts
    identity: str


class _Counting(Metrics):
    """Metrics that are also kept for the server that asks."""

    def __init__(self) -> None:
        super().__init__()
        self._counts, self._lock = Counts(), threading.Lock()

    def batch(self, tokens: int, seconds: float) -> None:
        with self._lock:
            self._counts.batches.append((tokens, seconds))

    def truncated(self, n: int) -> None:
        with self._lock:
            self._counts.truncated += n

    def taken(self) -> Counts:
        """Return the counts, and begin anew."""
        with self._lock:
            counts, self._counts = self._counts, Counts()
        return counts


@dataclass
class PipelineReplica:
    """A pipeline, which a replica opens; follows `longrank.engines.replicas.Opened`.

    Attributes:
        source: the index or store to search; None: none.
        choice: the pipeline, with its name.
        assignments: ``section.key=value`` for the pipeline.
        settings: the limits.
        server: name of the server that it works for; the replicas of a later server may have taken its place.
    """

    source: Path | None
    choice: PipelineChoice
    assignments: Sequence[str]
    settings: ServiceSettings
    server: str = ""
    _here: Here | None = field(default=None, init=False)
    _identity: str = field(default="", init=False)

    def open(self) -> None:
        """Load the pipeline, and follow the index.

        Raises:
            LongRankError: as `Engine` and `Engine.load`.
        """
        use_one_heap()
        self._notes, self._metrics = Notes(), _Counting()
        indexed = self.source is not None and not is_store(self.source)
        seen = stamp_of(self.source) if self.source is not None and indexed else None
        self._engine = open_engine(Engine, self.source, [self.choice], self.assignments, self._notes)
        self._engine.load()
        self._identity = identity_of(self._engine.served())
        scheduler = Scheduler(batch_tokens=self.settings.batch_tokens, metrics=self._metrics)
        scheduler.start()
        Reloader(self._engine, seen).start()
        admission = Admission(self.settings, scheduler)
        self._here = Here(Service(self._engine, self.settings, admission, scheduler, self._metrics))

    async def __call__(self, task: Asked) -> Told:
        """Return a reply of `Search`, an `Answer`, or the `Facts`."""
        try:
            result: Any = await self._result(task)
        except Exception as error:  # raised again by the server that asked
            result = error
        return Told(result, self._metrics.taken(), self._identity)

    async def _result(self, task: Asked) -> dict[str, Any] | Answer | Facts:
        if task.server != self.server:
            fault = (
                f"the replicas of '{self.choice.name}' are now those of another server of the same name: start again"
            )
            raise Refusal(503, "lost", fault)
        now = time.monotonic()
        by = None if task.by is None else now + task.by
        if task.ranking is None:
            return Facts(self._engine.describe()["pipelines"][0], self._notes)
        if self._here is None:
            raise Refusal(503, "not_ready", "the replica is still loading")
        if isinstance(task.ranking, Search):
            return await self._here.search(task.ranking, now + task.seconds, by)
        return await self._here.rerank(task.ranking, now + task.seconds, by)


def identity_of(served: Served) -> str:
    """Return a digest of a pipeline's settings and models; their files may change before another replica opens."""
    bound = served.pipeline or served.reranker
    models = [] if bound is None else fingerprints_of(bound.scorer)
    return digest_of([served.settings.model_dump_json(), *models])
