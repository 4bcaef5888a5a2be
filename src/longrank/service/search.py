"""Searching the index, and its documents."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from longrank.protocols import ScoringTask
from longrank.ranking.explain import Result, explained, result_json, search
from longrank.ranking.passages import PassageDocumentScorer, Prepared
from longrank.ranking.pipeline import Pipeline, RankedQuery, candidates_for
from longrank.service.engine import Served, unknown_pipeline
from longrank.service.errors import Refusal, not_ready
from longrank.service.rerank import Desk, check_query, scored
from longrank.service.units import tokens_of, weight_of
from longrank.types import Document, Evidence, Query


@dataclass(frozen=True, slots=True)
class Found:
    """An answer: results, the evidence of each, remarks, and the seconds that it took."""

    served: Served
    results: list[Result]
    evidence: dict[str, Evidence]
    warnings: list[str]
    seconds: float


async def find(desk: Desk, query: str, *, pipeline: str | None, k: int, passages: int, deadline: float) -> Found:
    """Answer a query from the index.

    Args:
        desk: the server; it has an index.
        query: the query.
        pipeline: the name of a served one; None: the default.
        k: how many documents.
        passages: how many passages to show of each.
        deadline: when the answer is no longer wanted, of `time.monotonic`.

    Raises:
        Refusal: 404 no index or no such pipeline, 422 too long a query, 429 overloaded, 503 no model yet, 504 too late.
    """
    served = _choose(desk, pipeline)
    began = time.monotonic()
    bound = served.pipeline
    assert bound is not None
    check_query(desk.settings, query)
    desk.admission.refuse_if_full()
    asked = Query("q", query)
    if not isinstance(bound.scorer, PassageDocumentScorer):
        with desk.admission.admit(0, deadline):
            results = await desk.scheduler.run(lambda: search(bound, query, k=k, passages=passages), deadline=deadline)
        return Found(served, results, {}, [], time.monotonic() - began)
    ranked = await _reranked(desk, served, bound, asked, k=k, deadline=deadline)
    results = await asyncio.to_thread(explained, bound, asked, ranked, k=k, passages=passages)
    evidence = {one.doc_id: one for one in ranked.evidence}
    return Found(served, results, evidence, _cuts(results), time.monotonic() - began)


async def _reranked(
    desk: Desk, served: Served, bound: Pipeline, asked: Query, *, k: int, deadline: float
) -> RankedQuery:
    """Retrieve candidates, and score their passages in batches shared with other requests."""
    first_stage, candidates = await desk.scheduler.run(lambda: candidates_for(bound, asked, k), deadline=deadline)
    if not candidates:
        return RankedQuery(first_stage, first_stage, [])
    scorer = bound.scorer
    assert isinstance(scorer, PassageDocumentScorer)
    weight = weight_of(scorer, indexed=True)
    cost = int(weight * served.overlap * sum(tokens_of(one.document.text) for one in candidates))

    def prepare() -> tuple[Prepared, Sequence[ScoringTask]]:
        prepared = scorer.prepare(candidates)
        return prepared, prepared.tasks

    with desk.admission.admit(cost, deadline):
        prepared, scores = await scored(desk, scorer, prepare, weight=weight, cost=cost, deadline=deadline)
    evidence = scorer.finish(prepared, scores)
    return RankedQuery(bound.run(evidence, first_stage, "search"), first_stage, evidence)


def found_json(desk: Desk, found: Found, query: str, *, k: int, passages: int, request_id: str) -> dict[str, Any]:
    """Return an answer as plain values for JSON; offsets count code points of the documents' texts."""
    index = desk.engine.index
    assert index is not None
    reranker = found.served.reranker
    return {
        "request_id": request_id,
        "index": desk.engine.index_name,
        "pipeline": found.served.name,
        "query": query,
        "unit": None if reranker is None else reranker.unit,
        "took_ms": round(1000 * found.seconds, 1),
        "warnings": found.warnings,
        "command": desk.engine.command(found.served, query, k, passages),
        "results": [
            {
                **result_json(one),
                "n_characters": len(index.document(one.doc_id).text),
                "strip": strip(found.evidence.get(one.doc_id)),
            }
            for one in found.results
        ],
    }


def strip(evidence: Evidence | None) -> list[list[float]]:
    """Return [start, end, score] of every scored passage, in order of position."""
    if evidence is None:
        return []
    rows = zip(
        evidence.passage_start.tolist(),
        evidence.passage_end.tolist(),
        evidence.passage_score.tolist(),
        strict=True,
    )
    return sorted([start, end, score] for start, end, score in rows)


def document(desk: Desk, doc_id: str) -> Document:
    """Return a document of the index.

    Raises:
        Refusal: 404, there is none of this id, or no index.
    """
    index = desk.engine.index
    if index is None or doc_id not in index:
        raise Refusal(404, "not_found", "no such document" if index is not None else "no index is served")
    return index.document(doc_id)


def _choose(desk: Desk, pipeline: str | None) -> Served:
    if desk.engine.index is None:
        raise Refusal(404, "not_found", "no index is served: this server reranks texts only")
    if not desk.engine.ready:
        raise not_ready()
    try:
        return desk.engine.served(pipeline)
    except KeyError:
        raise Refusal(404, "not_found", f"/pipeline: {unknown_pipeline(str(pipeline), desk.engine.names())}") from None


def _cuts(results: list[Result]) -> list[str]:
    """Return a sentence for each kind of text that was not read."""
    unread = sum(one.n_truncated for one in results)
    left_out = sum(one.n_scored < one.n_passages for one in results)
    found = [f"{unread} passages are longer than the model reads"] if unread else []
    return found + ([f"not all passages of {left_out} documents were scored"] if left_out else [])
