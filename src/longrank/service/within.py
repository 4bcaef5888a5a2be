"""Answer within a time: with what is read by then, instead of refusing the request."""

from __future__ import annotations

import asyncio
import functools
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from longrank.protocols import CollectionStatistics
from longrank.ranking.found import Partial, RankedText, Shown, highlighted
from longrank.ranking.highlights import Sentences
from longrank.ranking.passages import PassageDocumentScorer, Prepared
from longrank.ranking.prepared_texts import PreparedTexts
from longrank.ranking.promising import Part, Piece, counts_of, part_of, promising, task_of
from longrank.ranking.texts import Reranker
from longrank.ranking.timed import RESERVE
from longrank.ranking.timed_texts import with_unread
from longrank.service.errors import LATE, Refusal
from longrank.service.rerank import (
    Answer,
    RerankRequest,
    Service,
    answered,
    check_unread,
    finished,
    planned,
    prepared_texts,
    selecting,
)
from longrank.service.scheduler import Scheduler, Unit
from longrank.service.scored import with_highlights
from longrank.service.settings import ServiceSettings
from longrank.service.units import cost_of
from longrank.types import Document

T = TypeVar("T")


def until(by: float) -> float:
    """Return the time until which passages are read, for an answer by the time `by` of `time.monotonic`."""
    return by - RESERVE * max(0.0, by - time.monotonic())


async def read_until(
    scheduler: Scheduler,
    scorer: PassageDocumentScorer,
    prepare: Callable[[], tuple[T, Prepared]],
    *,
    statistics: CollectionStatistics | None,
    weight: float,
    cost: int,
    deadline: float,
    since: float | None = None,
) -> tuple[T, Prepared, Part] | None:
    """Score the passages of a block until a deadline, most promising first.

    Args:
        scheduler: shares batches with other requests.
        scorer: its passage scorer reads the block.
        prepare: returns a value and the block; called in the model thread right before the first batch.
        statistics: statistics of the collection, for documents without any.
        weight: cost of a token.
        cost: estimated cost of the block.
        deadline: time of `time.monotonic`.
        since: as of `Scheduler.scores`.

    Returns:
        The value, the block and its scored part; None if the deadline passed before the block was prepared.

    Raises:
        Refusal: 503, the server is stopping.
    """
    prepared: list[tuple[T, Prepared, list[Piece]]] = []

    def units() -> list[Unit]:
        value, block = prepare()
        pieces = promising(scorer, block.tasks, statistics)
        prepared.append((value, block, pieces))
        tasks = [task_of(piece, block.tasks) for piece in pieces]
        return [Unit(scorer.scorer, task, cost_of(task, weight)) for task in tasks]

    scores = await scheduler.scores_by(units, cost=cost, deadline=deadline, since=since)
    if not prepared:
        return None
    value, block, pieces = prepared[0]
    return value, block, part_of(block, pieces, scores)


async def in_time(awaited: Awaitable[T]) -> T | None:
    """Return the result of a job; None if its deadline passes before."""
    try:
        return await awaited
    except Refusal as refusal:
        if refusal.code != LATE:
            raise
        return None


async def highlights_within(
    service: Service, results: list[Shown], split: Callable[[], Sentences], by: float
) -> tuple[list[Shown], list[str]]:
    """Return the results with their best sentences; if the time is too short, without, and a sentence that says so."""
    if (shown := await in_time(with_highlights(service, results, split, by))) is not None:
        return shown, []
    n = sum(len(result.passages) for result in results)
    return highlighted(results, [()] * n), ["the deadline passed before the best sentences were found"]


async def rerank_within(service: Service, request: RerankRequest, by: float) -> Answer:
    """Rank the documents of a request by what is read of them in time.

    Documents without a score come last, in the order of the request.

    Args:
        service: the server.
        request: the request.
        by: time of `time.monotonic` of the answer.

    Raises:
        Refusal: 413 too large, 422 invalid, 429 overloaded, 503 models still loading.
    """
    plan = planned(service, request)
    reranker = plan.reranker

    def prepare(scorer: PassageDocumentScorer) -> tuple[tuple[PreparedTexts, int], Prepared]:
        texts, n_tokens = prepared_texts(reranker, request, scorer)
        return (texts, n_tokens), texts.block

    with service.admission.admit(plan.cost + plan.cost_of_sentences, math.inf):
        read, deadline, since = None, until(by), time.monotonic()
        selected = await in_time(selecting(service, request, plan, deadline))
        if selected is not None:
            scorer, cost = selected
            read = await read_until(
                service.scheduler,
                scorer,
                functools.partial(prepare, scorer),
                statistics=None,
                weight=plan.weight,
                cost=cost,
                deadline=deadline,
                since=since,
            )
        if read is None:
            n = len(request.documents)
            partial = Partial(n, 0, 0, n)
            check_unread(request, [str(partial)])
            return answered(service, request, plan, _with_unread([], request), [str(partial)], 0, partial)
        (texts, n_tokens), block, part = read
        counts = counts_of(block, part)
        results, warnings = await asyncio.to_thread(_ranked, reranker, texts, part, request, counts)
        results, late = await highlights_within(service, results, lambda: reranker.sentences(texts, results), by)
    return answered(service, request, plan, results, [*warnings, *late], n_tokens, counts)


def _ranked(
    reranker: Reranker, texts: PreparedTexts, part: Part, request: RerankRequest, counts: Partial | None
) -> tuple[list[RankedText], list[str]]:
    """Return the ranked documents, those that were not read last, and a sentence for each kind of unread text."""
    read = replace(texts, block=part.block, cut=tuple(texts.cut[n] for n in part.documents), ids=())
    results, warnings = finished(reranker, read, part.scores, request, partial=counts is not None)
    results = [replace(result, index=part.documents[result.index]) for result in results]
    if counts is None:
        return results, warnings
    check_unread(request, [str(counts)])
    return _with_unread(results, request, part.documents), [str(counts), *warnings]


def _with_unread(results: list[RankedText], request: RerankRequest, read: Sequence[int] = ()) -> list[RankedText]:
    """Return the results, and after them the documents that were not read, up to the number that was asked for."""
    titles = [document.title if isinstance(document, Document) else "" for document in request.documents]
    return with_unread(results, titles, request.top_n, read)


def seconds_left(settings: ServiceSettings, header: str | None) -> float:
    """Return the seconds that a client waits: the header's value, or the server's deadline if that is less.

    Raises:
        Refusal: 422, the header is not a positive number.
    """
    if header is None:
        return settings.deadline
    try:
        seconds = float(header)
    except ValueError:
        seconds = float("nan")
    if not 0 < seconds < float("inf"):
        raise Refusal(422, "invalid", f"X-Timeout-Seconds: not a number of seconds (got {header!r})")
    return min(seconds, settings.deadline)
