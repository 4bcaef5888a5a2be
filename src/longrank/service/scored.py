"""Score the passages and sentences of a request, in batches shared with other requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from longrank.protocols import PassageScores, ScoringTask
from longrank.ranking.found import Shown, highlighted
from longrank.ranking.highlights import Sentences
from longrank.ranking.passages import PassageDocumentScorer
from longrank.service.scheduler import Scheduler, Unit
from longrank.service.settings import ServiceSettings
from longrank.service.units import joined, tokens_of, units_of, weight_of

T = TypeVar("T")


class Scheduled(Protocol):
    """The parts of the server that score units: `longrank.service.rerank.Service` has them."""

    @property
    def settings(self) -> ServiceSettings:
        """The settings of the server."""

    @property
    def scheduler(self) -> Scheduler:
        """Scores the units of all requests."""


async def scored(
    service: Scheduled,
    scorer: PassageDocumentScorer,
    prepare: Callable[[], tuple[T, Sequence[ScoringTask]]],
    *,
    weight: float,
    cost: int,
    deadline: float,
    since: float | None = None,
) -> tuple[T, list[PassageScores]]:
    """Score tasks in batches shared with other requests.

    Args:
        service: the server.
        scorer: its passage scorer reads the tasks.
        prepare: returns a value and the tasks; called in the model thread right before the first batch.
        weight: cost of a token (`weight_of`).
        cost: estimated cost of all tasks.
        deadline: time of `time.monotonic` until which the scores are useful.
        since: as of `Scheduler.scores`.

    Returns:
        The value of `prepare`, and the scores of each task.

    Raises:
        Refusal: 503, the server is stopping; 504, too late.
    """
    prepared: list[tuple[T, Sequence[ScoringTask]]] = []

    def units() -> list[Unit]:
        prepared.append(prepare())
        return units_of(scorer, prepared[0][1], service.settings.batch_tokens, weight)

    scores = await service.scheduler.scores(units, cost=cost, deadline=deadline, since=since)
    ((value, tasks),) = prepared
    return value, joined(tasks, scores)


async def with_highlights(
    service: Scheduled, results: list[Shown], split: Callable[[], Sentences], deadline: float
) -> list[Shown]:
    """Return the results with the best sentence of each passage, scored in batches shared with other requests.

    Args:
        service: the server.
        results: the results.
        split: returns the sentences of their passages.
        deadline: time of `time.monotonic` until which the results are useful.

    Raises:
        Refusal: as `scored`.
    """
    sentences = await asyncio.to_thread(split)
    if not sentences.tasks:
        return highlighted(results, sentences.best([]))
    weight = weight_of(sentences.scorer, indexed=False)
    cost = int(weight * sum(tokens_of(task.query.text, *task.texts) for task in sentences.tasks))

    def prepare() -> tuple[None, Sequence[ScoringTask]]:
        return None, sentences.tasks

    _, scores = await scored(service, sentences.scorer, prepare, weight=weight, cost=cost, deadline=deadline)
    return highlighted(results, sentences.best(scores))
