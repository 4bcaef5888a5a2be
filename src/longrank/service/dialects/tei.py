"""Text-embeddings-inference: a bare list, best first."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from longrank.service.dialects.common import Count, Documents, NonEmpty, Request, own_fields
from longrank.service.rerank import Answer, Asked


class TeiRequest(Request):
    """A request of text-embeddings-inference.

    Long texts are read whole, so `truncate` has nothing to do unless it is false: then a text is refused if anything
    of it would stay unread.
    """

    query: NonEmpty
    texts: Annotated[list[str], Documents]
    top_n: Count | None = Field(None, description="How many to return, which litellm sends; all of them if not said.")
    raw_scores: bool | None = Field(None, description="Scores in the scorer's unit.")
    return_text: bool | None = None
    truncate: bool | None = None
    truncation_direction: Literal["right", "Right"] | None = None


def asked(request: TeiRequest) -> Asked:
    """Return what is asked for."""
    return Asked(
        query=request.query,
        documents=request.texts,
        top_n=request.top_n,
        aggregator=request.aggregate,
        passages=request.n_passages,
        may_cut=request.truncate is not False,
    )


def answered(request: TeiRequest, answer: Answer) -> list[dict[str, Any]]:
    """Write an answer down."""
    return [
        {
            "index": one.index,
            "score": one.score if request.raw_scores else one.relevance,
            **({"text": request.texts[one.index]} if request.return_text else {}),
            **own_fields(request, answer, one),
        }
        for one in answer.results
    ]
