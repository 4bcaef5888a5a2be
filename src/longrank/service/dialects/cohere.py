"""Cohere's second version, with the spans that made a document relevant."""

from __future__ import annotations

from bisect import bisect
from typing import Annotated, Any, Literal

from pydantic import Field

from longrank.ranking.explain import RankedText
from longrank.ranking.relevance import relevance_of
from longrank.ranking.texts import TextLimits
from longrank.service.dialects.common import Count, Documents, NonEmpty, Request, Strict, own_fields
from longrank.service.rerank import Answer, Asked


class RelevantSpans(Strict):
    """Which spans are wanted: relevance at least `threshold`, at most `max_spans` of a document."""

    mode: Literal["enabled", "disabled"]
    threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    max_spans: Annotated[int, Field(ge=1, le=1000)] | None = None


class CohereRequest(Request):
    """A request of Cohere's v2."""

    model: NonEmpty | None = None
    query: NonEmpty
    documents: Annotated[list[str], Documents]
    top_n: Count | None = None
    max_tokens_per_doc: Count | None = Field(None, description="Tokens read of each document; all of them if not said.")
    return_documents: bool | None = Field(None, description="Of the first version, which litellm sends here too.")
    priority: int | None = Field(None, description="Accepted, without effect.")
    relevant_spans: RelevantSpans | None = None

    @property
    def wants_spans(self) -> bool:
        """Whether spans are to be returned."""
        return self.relevant_spans is not None and self.relevant_spans.mode == "enabled"


def asked(request: CohereRequest) -> Asked:
    """Return what is asked for."""
    return Asked(
        query=request.query,
        documents=request.documents,
        top_n=request.top_n,
        model=request.model,
        limits=TextLimits(document_tokens=request.max_tokens_per_doc),
        aggregator=request.aggregate,
        passages=request.n_passages,
    )


def answered(request: CohereRequest, answer: Answer, request_id: str) -> dict[str, Any]:
    """Write an answer down."""
    meta: dict[str, Any] = {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}}
    meta["tokens"] = {"input_tokens": answer.n_tokens}
    if answer.warnings:
        meta["warnings"] = answer.warnings
    return {"id": request_id, "results": [_result(request, answer, one) for one in answer.results], "meta": meta}


def _result(request: CohereRequest, answer: Answer, one: RankedText) -> dict[str, Any]:
    result = {"index": one.index, "relevance_score": one.relevance, **own_fields(request, answer, one)}
    if request.return_documents:
        result["document"] = {"text": request.documents[one.index]}
    if request.wants_spans and (found := spans(request, answer, one)):
        result["relevant_spans"] = found
    return result


def spans(request: CohereRequest, answer: Answer, one: RankedText) -> list[dict[str, Any]]:
    """Return the relevant passages that overlap no better one, best first; offsets in code points."""
    wanted, reranker = request.relevant_spans, answer.served.reranker
    assert wanted is not None
    assert reranker is not None
    threshold = 0.1 if wanted.threshold is None else wanted.threshold
    found: list[dict[str, Any]] = []
    taken: list[tuple[int, int]] = []  # in order of position; none overlaps another
    evidence = one.evidence
    for n in (-evidence.passage_score).argsort(kind="stable").tolist():
        start, end = int(evidence.passage_start[n]), int(evidence.passage_end[n])
        relevance = relevance_of(float(evidence.passage_score[n]), reranker.unit)
        if relevance < threshold or len(found) == wanted.max_spans:
            break
        place = bisect(taken, (start, end))
        if start < end and all(a >= end or b <= start for a, b in taken[max(0, place - 1) : place + 1]):
            taken.insert(place, (start, end))
            found.append({"start": start, "end": end, "score": relevance})
    return found
