"""Rerank the texts of a request, in any dialect: ranked texts with their evidence."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from longrank.protocols import PassageScores, ScoringTask
from longrank.ranking.explain import RankedText, Shown, highlighted
from longrank.ranking.highlights import Sentences, sentence_scorer
from longrank.ranking.passages import PassageDocumentScorer
from longrank.ranking.settings import Aggregate
from longrank.ranking.texts import PreparedTexts, Reranker, TextLimits
from longrank.service.admission import Admission
from longrank.service.engine import Engine, Served
from longrank.service.errors import Refusal, not_ready
from longrank.service.metrics import Metrics
from longrank.service.scheduler import Scheduler, Unit
from longrank.service.settings import ServiceSettings
from longrank.service.source_files import SourceFiles
from longrank.service.units import joined, tokens_of, units_of, weight_of
from longrank.types import Document, Evidence

T = TypeVar("T")

EVIDENCE_PASSAGES = 3
"""Passages in the evidence of a document, if a request gives no number."""


@dataclass(frozen=True, slots=True)
class RerankRequest:
    """A request, independent of the dialect.

    Attributes:
        query: the query.
        documents: at least one document.
        top_n: documents to return; None: all.
        model: a served pipeline's name, or any other name, for the default pipeline.
        limits: limits of the text that is read.
        aggregator: aggregator that replaces the pipeline's own.
        passages: passages in the evidence of each document.
        may_cut: True: text may stay unread, with a warning. False: such a request is refused.
        warnings: warnings about the request, which the answer repeats.
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
    """A ranking, its pipeline and aggregator, warnings, and the tokens of query and documents."""

    results: list[RankedText]
    served: Served
    aggregator: str
    warnings: list[str]
    n_tokens: int


@dataclass(frozen=True, slots=True)
class Service:
    """The parts of a server that answer requests."""

    engine: Engine
    settings: ServiceSettings
    admission: Admission
    scheduler: Scheduler
    metrics: Metrics

    @property
    def files(self) -> SourceFiles | None:
        """The source files that clients may read; None if no folder is served."""
        return None if self.settings.files is None else SourceFiles(self.settings.files)


async def rerank(service: Service, request: RerankRequest, deadline: float) -> Answer:
    """Rank the documents of a request.

    Args:
        service: the server.
        request: the request.
        deadline: time of `time.monotonic` until which the answer is useful.

    Raises:
        Refusal: 413 too large, 422 invalid, 429 overloaded, 503 models still loading, 504 too late.
    """
    served, warnings = _choose(service.engine, request.model)
    _check(service.settings, request)
    reranker = served.reranker
    assert reranker is not None
    weight = weight_of(reranker.scorer, indexed=False)
    cost = int(weight * _cost(request, served.overlap))
    shown = min(len(request.documents), request.top_n or len(request.documents)) * request.passages

    def prepare() -> tuple[tuple[PreparedTexts, int], Sequence[ScoringTask]]:
        texts = reranker.prepare(request.query, request.documents, request.limits)
        return (texts, _n_tokens(reranker, texts)), texts.block.tasks

    with service.admission.admit(cost + min(cost, cost_of_sentences(served, shown)), deadline):
        (texts, n_tokens), scores = await scored(
            service, reranker.scorer, prepare, weight=weight, cost=cost, deadline=deadline
        )
        results, cut = await asyncio.to_thread(_finished, reranker, texts, scores, request)
        results = await with_highlights(service, results, lambda: reranker.sentences(texts, results), deadline)
    if cut and not request.may_cut:
        raise Refusal(422, "invalid", f"truncation is off, but {'; '.join(cut)}")
    service.metrics.truncated(sum(map(is_truncated, results)))
    aggregator = reranker.aggregator_name if request.aggregator is None else request.aggregator.name
    return Answer(results, served, aggregator, [*warnings, *request.warnings, *cut], n_tokens)


async def scored(
    service: Service,
    scorer: PassageDocumentScorer,
    prepare: Callable[[], tuple[T, Sequence[ScoringTask]]],
    *,
    weight: float,
    cost: int,
    deadline: float,
) -> tuple[T, list[PassageScores]]:
    """Score tasks in batches shared with other requests.

    Args:
        service: the server.
        scorer: its passage scorer reads the tasks.
        prepare: returns a value and the tasks; called in the model thread right before the first batch.
        weight: cost of a token (`weight_of`).
        cost: estimated cost of all tasks.
        deadline: time of `time.monotonic` until which the scores are useful.

    Returns:
        The value of `prepare`, and the scores of each task.

    Raises:
        Refusal: 503, the server is stopping; 504, too late.
    """
    prepared: list[tuple[T, Sequence[ScoringTask]]] = []

    def units() -> list[Unit]:
        prepared.append(prepare())
        return units_of(scorer, prepared[0][1], service.settings.batch_tokens, weight)

    scores = await service.scheduler.scores(units, cost=cost, deadline=deadline)
    ((value, tasks),) = prepared
    return value, joined(tasks, scores)


async def with_highlights(
    service: Service, results: list[Shown], split: Callable[[], Sentences], deadline: float
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


def cost_of_sentences(served: Served, n_passages: int) -> int:
    """Return the estimated cost of the sentences of `n_passages` shown passages."""
    assert served.reranker is not None
    weight = weight_of(sentence_scorer(served.reranker.scorer), indexed=False)
    return int(weight * n_passages * served.passage_tokens)


def check_query(settings: ServiceSettings, query: str) -> None:
    """Refuse a query that is too long.

    Raises:
        Refusal: 422.
    """
    if len(query) > settings.max_query_characters:
        fault = f"{len(query)} characters, at most {settings.max_query_characters} are allowed"
        raise Refusal(422, "invalid", f"/query: {fault}")


def is_truncated(result: RankedText) -> bool:
    """Return True if a part of the document was not read."""
    return result.cut or result.n_truncated > 0 or result.n_scored < result.n_passages


def strip(evidence: Evidence) -> list[list[float]]:
    """Return [start, end, score] of every scored passage, by position."""
    rows = zip(
        evidence.passage_start.tolist(), evidence.passage_end.tolist(), evidence.passage_score.tolist(), strict=True
    )
    return sorted([start, end, score] for start, end, score in rows)


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


def _choose(engine: Engine, model: str | None) -> tuple[Served, list[str]]:
    if not engine.ready:
        raise not_ready()
    named = engine.reranks(model) if model else None
    served = named or engine.reranks()
    if served is None:
        raise Refusal(404, "not_found", "no served pipeline reranks texts")
    if model and named is None:
        why = "does not rerank texts" if model in engine.names() else "is not served"
        return served, [f"model {model[:100]!r} {why}: '{served.name}' answers"]
    return served, []


def _check(settings: ServiceSettings, request: RerankRequest) -> None:
    n = len(request.documents)
    if n > settings.max_documents:
        raise Refusal(413, "too_large", f"{n} documents, at most {settings.max_documents} are allowed in a request")
    tokens, limit = sum(map(_tokens_of, request.documents)), settings.max_request_tokens
    if tokens > limit:
        raise Refusal(413, "too_large", f"about {tokens} tokens, at most {limit} are allowed in a request")
    check_query(settings, request.query)


def _tokens_of(document: str | Document) -> int:
    return tokens_of(document.title, document.text) if isinstance(document, Document) else tokens_of(document)


def _cost(request: RerankRequest, overlap: float) -> int:
    """Return the estimated tokens that a model will read."""
    limit = request.limits.document_tokens
    read = [n if limit is None else min(n, limit) for n in map(_tokens_of, request.documents)]
    return int(overlap * sum(read)) + len(read) * tokens_of(request.query)


def _n_tokens(reranker: Reranker, texts: PreparedTexts) -> int:
    documents = (candidate.document.text for candidate in texts.block.candidates)
    return reranker.n_tokens(texts.query.text) + sum(map(reranker.n_tokens, documents))


def _finished(
    reranker: Reranker, texts: PreparedTexts, scores: Sequence[PassageScores], request: RerankRequest
) -> tuple[list[RankedText], list[str]]:
    evidence = reranker.scorer.finish(texts.block, scores)
    with np.errstate(over="ignore", invalid="ignore"):  # checked below
        results = reranker.ranked(
            texts, evidence, k=request.top_n, passages=request.passages, aggregator=request.aggregator
        )
    if not all(math.isfinite(result.score) for result in results):
        raise Refusal(422, "invalid", "/aggregate: a document's score is not finite; use smaller weights")
    return results, _cuts(texts, evidence)


def _cuts(texts: PreparedTexts, evidence: Sequence[Evidence]) -> list[str]:
    """Return a sentence for each kind of unread text."""
    warnings = []
    if texts.query_cut:
        warnings.append("the query was cut, at the request's limit or at the model's")
    if cut := sum(texts.cut):
        warnings.append(f"{cut} of {len(texts.cut)} documents were cut at the request's limit")
    if unread := sum(item.n_truncated for item in evidence):
        warnings.append(f"{unread} passages are longer than the model reads")
    pairs = zip(evidence, texts.cut, strict=True)
    if selected := sum(item.n_passages > len(item.passage_index) and not cut for item, cut in pairs):
        warnings.append(f"the pipeline did not score all passages of {selected} documents")
    return warnings
