"""A clock that only reading moves: a second for each passage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from longrank.protocols import PassageScores, ScoringTask
from longrank.ranking.pipeline import Pipeline
from longrank.ranking.texts import Reranker


class Clock:
    """Time in seconds, moved by hand."""

    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


class Slow:
    """Takes a second of its clock for each passage; `batches` are the passages of each call."""

    def __init__(self, inner: Any, clock: Clock) -> None:
        self.unit, self.fingerprint, self.scores_documents = inner.unit, inner.fingerprint, inner.scores_documents
        self._inner, self._clock, self.batches = inner, clock, list[int]()

    def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
        n = sum(len(task.passages) for task in tasks)
        self._clock.time += n
        self.batches.append(n)
        return list(self._inner.score(tasks))


def slowed(ranking: Reranker | Pipeline, clock: Clock) -> Slow:
    """Make a reranker or a pipeline slow, and return its scorer."""
    scorer: Any = ranking.scorer
    scorer.scorer = Slow(scorer.scorer, clock)
    return scorer.scorer  # type: ignore[no-any-return]
