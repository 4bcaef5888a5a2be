"""What all dialects share: our own fields of a request, and of each result."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from longrank.config import suggestion
from longrank.ranking.explain import RankedText, passage_json
from longrank.ranking.relevance import relevance_of
from longrank.service.engine import simple_aggregators
from longrank.service.rerank import EVIDENCE_PASSAGES, Answer, is_truncated

Count = Annotated[int, Field(ge=1, le=1_000_000)]
NonEmpty = Annotated[str, Field(min_length=1, pattern=r"\S")]
Documents = Field(min_length=1, fail_fast=True)
"""A list, not empty; the first thing that is wrong in it is told: telling of all would be more work than ranking."""


def _known(name: str) -> str:
    if name not in simple_aggregators():
        raise PydanticCustomError("aggregate", f"unknown aggregator; {suggestion(name[:100], simple_aggregators())}")
    return name


AggregatorName = Annotated[
    str, AfterValidator(_known), WithJsonSchema({"type": "string", "enum": simple_aggregators()})
]


class Strict(BaseModel):
    """Values of exactly their types, and no other fields; 3.0 is an integer, as JSON's own schemas have it.

    Of fields that are unknown the first is told: a body may have a hundred thousand.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        unknown = next((key for key in value if key not in cls.model_fields), None)
        kept = {key: one for key, one in value.items() if key in cls.model_fields or key == unknown}
        return {key: int(one) if isinstance(one, float) and one.is_integer() else one for key, one in kept.items()}


class Request(Strict):
    """The fields that LongRank adds to every dialect; null means not given."""

    aggregate: AggregatorName | None = Field(None, description="How passages become a document's score; see /info.")
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
