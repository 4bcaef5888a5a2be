"""Fields that LongRank adds to each dialect's requests and results."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from longrank.aggregation import AGGREGATORS, make_aggregator
from longrank.errors import InputError
from longrank.ranking.found import RankedText, passage_json
from longrank.ranking.relevance import relevance_of
from longrank.ranking.settings import Aggregate
from longrank.registries import suggestion
from longrank.service.engine import simple_aggregators
from longrank.service.rerank import EVIDENCE_PASSAGES, Answer, strip

Count = Annotated[int, Field(ge=1, le=1_000_000)]
NonEmpty = Annotated[str, Field(min_length=1, pattern=r"\S")]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
DEADLINE = (
    "Seconds from the request's arrival to an answer with what is read by then, the most promising passages first; "
    "at most the server's deadline. Default: all is read, or the request is refused with 504."
)
Documents = Field(min_length=1, fail_fast=True)
"""A non-empty list; only its first error is reported."""


_NAMES = [name for name, entry in AGGREGATORS.items() if not entry.needs_document_score]


def _aggregate(value: Any) -> Aggregate:
    """Read an aggregator's name, or an object with its name and its options."""
    fields = value if isinstance(value, dict) else {"name": value}
    name, options = fields.get("name"), {key: _whole(item) for key, item in fields.items() if key != "name"}
    if not isinstance(name, str) or name not in _NAMES:
        raise PydanticCustomError("aggregate", f"unknown aggregator; {suggestion(str(name)[:100], _NAMES)}")
    if unknown := options.keys() - AGGREGATORS[name].options.keys():
        raise PydanticCustomError("aggregate", f"aggregator '{name}' has no option {min(unknown)[:100]!r}")
    try:
        make_aggregator(name, **options)
        return Aggregate(name=name, **options)
    except InputError as error:
        raise PydanticCustomError("aggregate", "{fault}", {"fault": str(error)}) from None


def _aggregate_schema() -> dict[str, Any]:
    """Return the JSON Schema of an aggregator: a name, or an object per aggregator with its options."""
    return {"anyOf": [{"type": "string", "enum": simple_aggregators()}, *map(_object_schema, _NAMES)]}


def _object_schema(name: str) -> dict[str, Any]:
    options = AGGREGATORS[name].options
    values = {option: TypeAdapter(parameter.annotation).json_schema() for option, parameter in options.items()}
    needed = [option for option, parameter in options.items() if parameter.default is parameter.empty]
    properties = {"name": {"const": name}, **values}
    return {"type": "object", "properties": properties, "required": ["name", *needed], "additionalProperties": False}


AggregateField = Annotated[Aggregate, BeforeValidator(_aggregate), WithJsonSchema(_aggregate_schema())]


class Strict(BaseModel):
    """Values of exactly their types, and no unknown fields; 3.0 is an integer, as in JSON Schema.

    Only the first unknown field is reported.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        unknown = next((key for key in value if key not in cls.model_fields), None)
        kept = {key: item for key, item in value.items() if key in cls.model_fields or key == unknown}
        return {key: _whole(item) for key, item in kept.items()}


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


class Request(Strict):
    """Fields that LongRank adds to every dialect; null is the default."""

    aggregate: AggregateField | None = Field(
        None, description="Aggregator of the passage scores: its name, or its name and options; see /info."
    )
    evidence: bool | None = Field(None, description="Return the best passages.")
    passages: Annotated[int, Field(ge=0, le=100)] | None = Field(
        None, description=f"Passages to return of each document. Default: {EVIDENCE_PASSAGES}."
    )

    deadline: Seconds | None = Field(None, description=DEADLINE)

    @property
    def n_passages(self) -> int:
        """Passages to return of each document."""
        if not self.evidence:
            return 0
        return EVIDENCE_PASSAGES if self.passages is None else self.passages


def own_fields(request: Request, answer: Answer, ranked: RankedText) -> dict[str, Any]:
    """Return the fields that LongRank adds to a result."""
    score = ranked.score if ranked.n_scored else None
    fields: dict[str, Any] = {"aggregate": score, "truncated": ranked.truncated}
    if not request.evidence:
        return fields
    fields["evidence"] = {
        "unit": answer.unit,
        "aggregator": answer.aggregator,
        "n_passages": ranked.n_passages,
        "n_scored": ranked.n_scored,
        "n_truncated": ranked.n_truncated,
    }
    fields["passages"] = [
        {**passage_json(passage), "relevance": relevance_of(passage.score, answer.unit)} for passage in ranked.passages
    ]
    fields["strip"] = strip(ranked.evidence)
    return fields
