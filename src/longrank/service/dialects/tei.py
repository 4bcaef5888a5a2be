"""Text-embeddings-inference: a bare list of results, best first."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from longrank.service.dialects.common import Count, Documents, NonEmpty, Request, own_fields
from longrank.service.rerank import Answer, RerankRequest


class TeiRequest(Request):
    """A request of text-embeddings-inference.

    Long texts are read whole. With ``truncate: false`` the request is refused if text would stay unread.
    """

    model: NonEmpty | None = Field(None, description="A served pipeline (rerankers).")
    query: NonEmpty
    texts: Annotated[list[str], Documents]
    top_n: Count | None = Field(None, description="Texts to return (litellm). Default: all.")
    raw_scores: bool | None = Field(None, description="Scores in the scorer's unit.")
    return_text: bool | None = None
    truncate: bool | None = None
    truncation_direction: Literal["right", "Right"] | None = None


def to_request(request: TeiRequest) -> RerankRequest:
    """Return the request, independent of the dialect."""
    return RerankRequest(
        query=request.query,
        documents=request.texts,
        top_n=request.top_n,
        model=request.model,
        aggregator=request.aggregate,
        passages=request.n_passages,
        seconds=request.deadline,
        may_cut=request.truncate is not False,
    )


def reply(request: TeiRequest, answer: Answer) -> list[dict[str, Any]]:
    """Return the reply as JSON values."""
    return [
        {
            "index": ranked.index,
            "score": ranked.score if request.raw_scores else ranked.relevance,
            **({"text": request.texts[ranked.index]} if request.return_text else {}),
            **own_fields(request, answer, ranked),
        }
        for ranked in answer.results
    ]
