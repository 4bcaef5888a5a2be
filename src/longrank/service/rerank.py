"""A reranking as every dialect asks for it: texts in, ranked texts with their evidence out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from longrank.protocols import PassageScores, ScoringTask
from longrank.ranking.passages import PassageDocumentScorer
from longrank.ranking.settings import Aggregate
from longrank.ranking.texts import PreparedTexts, RankedText, TextLimits, TextReranker
from longrank.service.admission import Admission
from longrank.service.engine import Engine, Served
from longrank.service.errors import Refusal, not_ready
from longrank.service.metrics import Metrics
from longrank.service.scheduler import Scheduler, Unit
from longrank.service.settings import ServiceSettings
from longrank.service.units import joined, tokens_of, units_of, weight_of
from longrank.types import Document, Evidence

T = TypeVar("T")

EVIDENCE_PASSAGES = 3
"""Passages shown of a document where a request wants evidence and names no number."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request.

    Attributes:
        query: the query.
        documents: at least one.
        top_n: how many to return; None: all.
        model: what the client calls the model: a served pipeline's name, or anything.
        limits: what is read at most.
        aggregator: instead of the pipeline's own.
        passages: how many passages to show of each document.
        may_cut: whether text may be left unread, which is reported; else it is refused.
        warnings: remarks on the request itself, which the answer repeats.
    """

    query: str
    documents: Sequence[str | Document]
    top_n: int | None = None
    model: str | None = None
    limits: TextLimits = field(default_factory=TextLimits)
    aggregator: Aggregate | None = None
    passages: int = 0
    may_cut: bool = True
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a dialect writes down: the ranking, whose it is, remarks, and the tokens of query and documents."""

    results: list[RankedText]
    served: Served
    aggregator: str
    warnings: list[str]
    n_tokens: int


@dataclass(frozen=True, slots=True)
class Desk:
    """All that answering takes: what is served, within which limits, by whom it is computed."""

    engine: Engine
    settings: ServiceSettings
    admission: Admission
    scheduler: Scheduler
    metrics: Metrics


async def rerank(desk: Desk, asked: Asked, deadline: float) -> Answer:
    """Rank the documents of a request.

    Args:
        desk: the server.
        asked: the request.
        deadline: when the answer is no longer wanted, of `time.monotonic`.

    Raises:
        Refusal: 413 too large, 422 wrong, 429 overloaded, 503 no model yet, 504 too late.
    """
    served, warnings = _choose(desk.engine, asked.model)
    _check(desk.settings, asked)
    reranker = served.reranker
    assert reranker is not None
    weight = weight_of(reranker.scorer, indexed=False)
    cost = int(weight * _cost(asked, served.overlap))

    def prepare() -> tuple[tuple[PreparedTexts, int], Sequence[ScoringTask]]:
        texts = reranker.prepare(asked.query, asked.documents, asked.limits)
        return (texts, _n_tokens(reranker, texts)), texts.block.tasks

    with desk.admission.admit(cost, deadline):
        (texts, n_tokens), scores = await scored(
            desk, reranker.scorer, prepare, weight=weight, cost=cost, deadline=deadline
        )
        results, cut = await asyncio.to_thread(_finished, reranker, texts, scores, asked)
    if cut and not asked.may_cut:
        raise Refusal(422, "invalid", f"truncation is off, but {'; '.join(cut)}")
    desk.metrics.truncated(sum(is_truncated(one) for one in results))
    aggregator = reranker.aggregator_name if asked.aggregator is None else asked.aggregator.name
    return Answer(results, served, aggregator, [*warnings, *asked.warnings, *cut], n_tokens)


async def scored(
    desk: Desk,
    scorer: PassageDocumentScorer,
    prepare: Callable[[], tuple[T, Sequence[ScoringTask]]],
    *,
    weight: float,
    cost: int,
    deadline: float,
) -> tuple[T, list[PassageScores]]:
    """Have tasks scored in batches shared with other requests.

    Args:
        desk: the server.
        scorer: whose passage scorer reads them.
        prepare: makes the tasks, and anything else; called in the thread of the models when it is their turn.
        weight: what a token costs (`weight_of`).
        cost: an estimate of what all of them cost.
        deadline: when they are no longer wanted, of `time.monotonic`.

    Returns:
        What `prepare` made besides, and the scores of each task.

    Raises:
        Refusal: 503, the server is stopping; 504, too late.
    """
    made: list[tuple[T, Sequence[ScoringTask]]] = []

    def units() -> list[Unit]:
        made.append(prepare())
        return units_of(scorer, made[0][1], desk.settings.batch_tokens, weight)

    scores = await desk.scheduler.scores(units, cost=cost, deadline=deadline)
    ((besides, tasks),) = made
    return besides, joined(tasks, scores)


def check_query(settings: ServiceSettings, query: str) -> None:
    """Refuse a query that is too long.

    Raises:
        Refusal: 422.
    """
    if len(query) > settings.max_query_characters:
        what = f"{len(query)} characters, {settings.max_query_characters} at most"
        raise Refusal(422, "invalid", f"/query: {what}")


def is_truncated(one: RankedText) -> bool:
    """Say whether something of the document was not read."""
    return one.cut or one.n_truncated > 0 or one.n_scored < one.n_passages


def seconds_left(settings: ServiceSettings, wanted: str | None) -> float:
    """Return how long a client waits: `wanted` seconds, or the server's deadline where that is less.

    Raises:
        Refusal: 422, it is not a positive number.
    """
    if wanted is None:
        return settings.deadline
    try:
        seconds = float(wanted)
    except ValueError:
        seconds = float("nan")
    if not 0 < seconds < float("inf"):
        raise Refusal(422, "invalid", f"X-Timeout-Seconds: not a number of seconds (got {wanted!r})")
    return min(seconds, settings.deadline)


def _choose(engine: Engine, model: str | None) -> tuple[Served, list[str]]:
    if not engine.ready:
        raise not_ready()
    named = engine.reranks(model) if model else None
    served = named or engine.reranks()
    if served is None:
        raise Refusal(404, "not_found", "no pipeline here reranks texts")
    if model and named is None:
        why = "does not rerank texts" if model in engine.names() else "is not served here"
        return served, [f"model {model[:100]!r} {why}: '{served.name}' answers"]
    return served, []


def _check(settings: ServiceSettings, asked: Asked) -> None:
    n = len(asked.documents)
    if n > settings.max_documents:
        raise Refusal(413, "too_large", f"{n} documents, {settings.max_documents} at most in one request")
    tokens = sum(map(_tokens_of, asked.documents))
    if tokens > settings.max_request_tokens:
        raise Refusal(413, "too_large", f"about {tokens} tokens, {settings.max_request_tokens} at most in one request")
    check_query(settings, asked.query)


def _tokens_of(document: str | Document) -> int:
    return tokens_of(document.title, document.text) if isinstance(document, Document) else tokens_of(document)


def _cost(asked: Asked, overlap: float) -> int:
    """Estimate the tokens that a model will read."""
    most = asked.limits.document_tokens
    read = [n if most is None else min(n, most) for n in map(_tokens_of, asked.documents)]
    return int(overlap * sum(read)) + len(read) * tokens_of(asked.query)


def _n_tokens(reranker: TextReranker, texts: PreparedTexts) -> int:
    documents = (candidate.document.text for candidate in texts.block.candidates)
    return reranker.n_tokens(texts.query.text) + sum(map(reranker.n_tokens, documents))


def _finished(
    reranker: TextReranker, texts: PreparedTexts, scores: Sequence[PassageScores], asked: Asked
) -> tuple[list[RankedText], list[str]]:
    evidence = reranker.scorer.finish(texts.block, scores)
    results = reranker.ranked(texts, evidence, top_n=asked.top_n, passages=asked.passages, aggregator=asked.aggregator)
    return results, _cuts(texts, evidence)


def _cuts(texts: PreparedTexts, evidence: Sequence[Evidence]) -> list[str]:
    """Return a sentence for each kind of text that was not read."""
    found = []
    if texts.query_cut:
        found.append("the query was cut, at the limit asked for or at what the model reads of it")
    if cut := sum(texts.cut):
        found.append(f"{cut} of {len(texts.cut)} documents were cut at the limit asked for")
    unread = sum(one.n_truncated for one in evidence)
    if unread:
        found.append(f"{unread} passages are longer than the model reads")
    selected = sum(
        one.n_passages > len(one.passage_index) and not cut for one, cut in zip(evidence, texts.cut, strict=True)
    )
    if selected:
        found.append(f"not all passages of {selected} documents were scored, as the pipeline says")
    return found
