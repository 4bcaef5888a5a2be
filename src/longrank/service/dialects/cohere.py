"""Cohere v2, with relevant spans."""

from __future__ import annotations

from bisect import bisect
from typing import Annotated, Any, Literal

from pydantic import Field

from longrank.ranking.found import RankedText
from longrank.ranking.prepared_texts import TextLimits
from longrank.ranking.relevance import relevance_of
from longrank.service.dialects.common import Count, Documents, NonEmpty, Request, Strict, own_fields
from longrank.service.rerank import Answer, RerankRequest


class RelevantSpans(Strict):
    """Limits of spans: relevance of at least `threshold`, at most `max_spans` per document."""

    mode: Literal["enabled", "disabled"]
    threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    max_spans: Annotated[int, Field(ge=1, le=1000)] | None = None


class CohereRequest(Request):
    """A request of Cohere v2."""

    model: NonEmpty | None = None
    query: NonEmpty
    documents: Annotated[list[str], Documents]
    top_n: Count | None = None
    max_tokens_per_doc: Count | None = Field(None, description="Tokens read of each document. Default: all.")
    return_documents: bool | None = Field(None, description="Field of Cohere v1, which litellm sends, too.")
    priority: int | None = Field(None, description="Ignored.")
    relevant_spans: RelevantSpans | None = None

    @property
    def wants_spans(self) -> bool:
        """True if the reply has spans."""
        return self.relevant_spans is not None and self.relevant_spans.mode == "enabled"


def to_request(request: CohereRequest) -> RerankRequest:
    """Return the request, independent of the dialect."""
    return RerankRequest(
        query=request.query,
        documents=request.documents,
        top_n=request.top_n,
        model=request.model,
        limits=TextLimits(document_tokens=request.max_tokens_per_doc),
        aggregator=request.aggregate,
        passages=request.n_passages,
        seconds=request.deadline,
    )


def reply(request: CohereRequest, answer: Answer, request_id: str) -> dict[str, Any]:
    """Return the reply as JSON values."""
    meta: dict[str, Any] = {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}}
    meta["tokens"] = {"input_tokens": answer.n_tokens}
    if answer.partial is not None:
        meta["partial"] = answer.partial.json()
    if answer.warnings:
        meta["warnings"] = answer.warnings
    return {"id": request_id, "results": [_result(request, answer, ranked) for ranked in answer.results], "meta": meta}


def _result(request: CohereRequest, answer: Answer, ranked: RankedText) -> dict[str, Any]:
    result = {"index": ranked.index, "relevance_score": ranked.relevance, **own_fields(request, answer, ranked)}
    if request.return_documents:
        result["document"] = {"text": request.documents[ranked.index]}
    if request.wants_spans and (relevant := spans(request, answer, ranked)):
        result["relevant_spans"] = relevant
    return result


def spans(request: CohereRequest, answer: Answer, ranked: RankedText) -> list[dict[str, Any]]:
    """Return the relevant passages that overlap no better passage, best first; offsets in code points."""
    limits = request.relevant_spans
    assert limits is not None
    threshold = 0.1 if limits.threshold is None else limits.threshold
    results: list[dict[str, Any]] = []
    taken: list[tuple[int, int]] = []  # sorted, without overlaps
    evidence = ranked.evidence
    for n in (-evidence.passage_score).argsort(kind="stable").tolist():
        start, end = int(evidence.passage_start[n]), int(evidence.passage_end[n])
        relevance = relevance_of(float(evidence.passage_score[n]), answer.unit)
        if relevance < threshold or len(results) == limits.max_spans:
            break
        place = bisect(taken, (start, end))
        if start < end and all(a >= end or b <= start for a, b in taken[max(0, place - 1) : place + 1]):
            taken.insert(place, (start, end))
            results.append({"start": start, "end": end, "score": relevance})
    return results
