"""Rerank the texts of a request, in any dialect: ranked texts with their evidence."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from longrank.protocols import PassageScores, ScoringTask
from longrank.ranking.found import Partial, RankedText
from longrank.ranking.highlights import sentence_scorer
from longrank.ranking.passages import PassageDocumentScorer
from longrank.ranking.prepared_texts import PreparedTexts, TextLimits
from longrank.ranking.settings import Aggregate
from longrank.ranking.texts import Reranker
from longrank.service.admission import Admission
from longrank.service.engine import Engine
from longrank.service.errors import Refusal, not_ready
from longrank.service.judging import Judging
from longrank.service.metrics import Metrics
from longrank.service.scheduler import Scheduler
from longrank.service.scored import scored, with_highlights
from longrank.service.selecting import with_selection
from longrank.service.served import Served
from longrank.service.settings import ServiceSettings
from longrank.service.source_files import SourceFiles
from longrank.service.units import tokens_of, weight_of
from longrank.types import Document, Evidence

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
        seconds: time to an answer with what is read by then; None: all is read, or the request is refused.
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
    seconds: float | None = None
    may_cut: bool = True
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """A ranking, its pipeline, unit, aggregator and warnings, tokens of query and documents, and counts if partial."""

    results: list[RankedText]
    pipeline: str
    unit: str
    aggregator: str
    warnings: list[str]
    n_tokens: int
    partial: Partial | None = None


@dataclass(frozen=True, slots=True)
class Service:
    """The parts of a server that answer requests."""

    engine: Engine
    settings: ServiceSettings
    admission: Admission
    scheduler: Scheduler
    metrics: Metrics
    judging: Judging | None = None

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
    plan = planned(service, request)
    reranker = plan.reranker

    with service.admission.admit(plan.cost + plan.cost_of_sentences, deadline):
        since = time.monotonic()
        scorer, cost = await selecting(service, request, plan, deadline)

        def prepare() -> tuple[tuple[PreparedTexts, int], Sequence[ScoringTask]]:
            texts, n_tokens = prepared_texts(reranker, request, scorer)
            return (texts, n_tokens), texts.block.tasks

        options: dict[str, Any] = {"weight": plan.weight, "cost": cost, "deadline": deadline, "since": since}
        (texts, n_tokens), scores = await scored(service, scorer, prepare, **options)
        results, warnings = await asyncio.to_thread(finished, reranker, texts, scores, request)
        results = await with_highlights(service, results, lambda: reranker.sentences(texts, results), deadline)
    return answered(service, request, plan, results, warnings, n_tokens)


class Plan(NamedTuple):
    """The pipeline of a request, its warnings, the cost of a token, and the estimated costs of texts and sentences."""

    served: Served
    reranker: Reranker
    warnings: list[str]
    weight: float
    cost: int
    cost_of_sentences: int


def planned(service: Service, request: RerankRequest) -> Plan:
    """Choose the pipeline of a request, and check its limits.

    Raises:
        Refusal: 404 no pipeline reranks, 413 too large, 422 invalid, 503 models still loading.
    """
    served, warnings = choose_reranking(service.engine, request.model)
    check_limits(service.settings, request)
    assert served.reranker is not None
    weight = weight_of(served.reranker.scorer, indexed=False)
    cost = int(weight * _cost(request, served.overlap))
    shown = min(len(request.documents), request.top_n or len(request.documents)) * request.passages
    return Plan(served, served.reranker, warnings, weight, cost, min(cost, cost_of_sentences(served, shown)))


async def selecting(
    service: Service, request: RerankRequest, plan: Plan, deadline: float
) -> tuple[PassageDocumentScorer, int]:
    """Return the pipeline's scorer, which knows the scores that it selects passages by, and the cost of these passages.

    Raises:
        Refusal: as `with_selection`.
    """
    limits = replace(request.limits, passages=None)

    def tasks_of(scorer: PassageDocumentScorer) -> Sequence[ScoringTask]:
        return plan.reranker.prepare(request.query, request.documents, limits, scorer).block.tasks

    options: dict[str, Any] = {"indexed": False, "cost": int(plan.cost / plan.weight), "deadline": deadline}
    scorer, share = await with_selection(service, plan.reranker.scorer, tasks_of, **options)
    return scorer, int(share * plan.cost)


def prepared_texts(
    reranker: Reranker, request: RerankRequest, scorer: PassageDocumentScorer
) -> tuple[PreparedTexts, int]:
    """Return the documents ready for the scorer, and the tokens of query and documents."""
    texts = reranker.prepare(request.query, request.documents, request.limits, scorer)
    return texts, _n_tokens(reranker, texts)


def answered(  # noqa: PLR0917
    service: Service,
    request: RerankRequest,
    plan: Plan,
    results: list[RankedText],
    warnings: Sequence[str],
    n_tokens: int,
    partial: Partial | None = None,
) -> Answer:
    """Return the answer to a request; `warnings` are of its documents."""
    service.metrics.truncated(sum(result.truncated for result in results))
    aggregator = plan.reranker.aggregator_name if request.aggregator is None else request.aggregator.name
    every = [*plan.warnings, *request.warnings, *warnings]
    return Answer(results, plan.served.name, plan.reranker.unit, aggregator, every, n_tokens, partial)


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


def strip(evidence: Evidence) -> list[list[float]]:
    """Return [start, end, score] of every scored passage, by position."""
    rows = zip(
        evidence.passage_start.tolist(), evidence.passage_end.tolist(), evidence.passage_score.tolist(), strict=True
    )
    return sorted([start, end, score] for start, end, score in rows)


def choose_reranking(engine: Engine, model: str | None) -> tuple[Served, list[str]]:
    """Return the pipeline that reranks for a request, and a warning if it is not the one that was asked for.

    Raises:
        Refusal: 404 no pipeline reranks, 503 models still loading.
    """
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


def check_limits(settings: ServiceSettings, request: RerankRequest) -> None:
    """Refuse a request with too many documents or too much text.

    Raises:
        Refusal: 413 too large, 422 query too long.
    """
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


def finished(
    reranker: Reranker,
    texts: PreparedTexts,
    scores: Sequence[PassageScores],
    request: RerankRequest,
    *,
    partial: bool = False,
) -> tuple[list[RankedText], list[str]]:
    """Return the ranked documents, and a sentence for each kind of unread text, but for what a deadline left unread.

    Remarks on the texts, such as letters that words are not found by, follow.

    Raises:
        Refusal: 422, text stays unread, which the request forbids; or a score is not finite.
    """
    evidence = reranker.scorer.finish(texts.block, scores)
    with np.errstate(over="ignore", invalid="ignore"):  # checked below
        results = reranker.ranked(
            texts, evidence, k=request.top_n, passages=request.passages, aggregator=request.aggregator
        )
    if not all(math.isfinite(result.score) for result in results):
        raise Refusal(422, "invalid", "/aggregate: a document's score is not finite; use smaller weights")
    unread, letters = _unread(texts, evidence, partial=partial), texts.remarks.copy()
    check_unread(request, unread)
    reranker.note_letters(texts, letters)
    return results, [*unread, *letters.lines()]


def check_unread(request: RerankRequest, unread: Sequence[str]) -> None:
    """Refuse a request that forbids unread text, if there is some.

    Raises:
        Refusal: 422.
    """
    if unread and not request.may_cut:
        raise Refusal(422, "invalid", f"truncation is off, but {'; '.join(unread)}")


def _unread(texts: PreparedTexts, evidence: Sequence[Evidence], *, partial: bool) -> list[str]:
    """Return a sentence for each kind of unread text."""
    warnings = []
    if texts.query_cut:
        warnings.append("the query was cut, at the request's limit or at the model's")
    if cut := sum(texts.cut):
        warnings.append(f"{cut} of {len(texts.cut)} documents were cut at the request's limit")
    if unread := sum(item.n_truncated for item in evidence):
        warnings.append(f"{unread} passages are longer than the model reads")
    pairs = zip(evidence, texts.cut, strict=True)
    selected = sum(item.n_passages > len(item.passage_index) and not cut for item, cut in pairs)
    if selected and not partial:
        warnings.append(f"the pipeline did not score all passages of {selected} documents")
    return warnings
