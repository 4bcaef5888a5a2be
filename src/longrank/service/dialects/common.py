"""What all dialects share: our own fields of a request, and of each result."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from longrank.ranking.explain import passage_json
from longrank.ranking.texts import RankedText, relevance_of
from longrank.service.rerank import EVIDENCE_PASSAGES, Answer, is_truncated

Count = Annotated[int, Field(ge=1, le=1_000_000)]
NonEmpty = Annotated[str, Field(min_length=1, pattern=r"\S")]


class Request(BaseModel):
    """The fields that LongRank adds to every dialect; null means not given."""

    model_config = ConfigDict(extra="forbid", strict=True)

    aggregate: str | None = Field(None, description="How passages become a document's score; see /info.")
    evidence: bool | None = Field(None, description="Return the passages that count most.")
    passages: Annotated[int, Field(ge=0, le=100)] | None = Field(
        None, description=f"How many of them for each document, {EVIDENCE_PASSAGES} if not said."
    )

    @property
    def n_passages(self) -> int:
        """How many passages of each document are shown."""
        if not self.evidence:
            return 0
        return EVIDENCE_PASSAGES if self.passages is None else self.passages


def own_fields(request: Request, answer: Answer, one: RankedText) -> dict[str, Any]:
    """Return what LongRank adds to a result."""
    fields: dict[str, Any] = {"aggregate": one.score, "truncated": is_truncated(one)}
    if not request.evidence:
        return fields
    reranker = answer.served.reranker
    assert reranker is not None
    fields["evidence"] = {
        "unit": reranker.unit,
        "aggregator": answer.aggregator,
        "n_passages": one.n_passages,
        "n_scored": one.n_scored,
        "n_truncated": one.n_truncated,
    }
    fields["passages"] = [
        {**passage_json(passage), "relevance": relevance_of(passage.score, reranker.unit)} for passage in one.passages
    ]
    return fields
