"""The union of Cohere's first version, Jina, vLLM and Infinity: they differ in what else may be asked for."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from longrank.ranking.explain import RankedText
from longrank.ranking.texts import TextLimits
from longrank.service.dialects.common import Count, Documents, NonEmpty, Request, own_fields
from longrank.service.rerank import Answer, Asked


class Text(BaseModel):
    """A document as an object."""

    model_config = ConfigDict(extra="allow", strict=True)

    text: str


TEXT_TAGS = ("a document's text", "an object with a document's text")
TextOrObject = Annotated[
    Annotated[str, Tag(TEXT_TAGS[0])] | Annotated[Text, Tag(TEXT_TAGS[1])],
    Discriminator(lambda value: TEXT_TAGS[isinstance(value, dict | Text)]),
]


class JinaRequest(Request):
    """A request of Cohere's v1, Jina, vLLM or Infinity; a limit that is not given is none."""

    model: NonEmpty | None = None
    query: NonEmpty
    documents: Annotated[list[TextOrObject], Documents]
    top_n: Annotated[int, Field(ge=0, le=1_000_000)] | None = Field(None, description="0 is all, as vLLM has it.")
    return_documents: bool | None = None
    raw_scores: bool | None = Field(None, description="Scores in the scorer's unit (Infinity).")
    rank_fields: Annotated[list[str], Field(max_length=16)] | None = Field(
        None, description="Fields of document objects to read (Cohere v1), those that are strings."
    )
    max_chunks_per_doc: Count | None = Field(None, description="Passages read of each document (Cohere v1).")
    max_tokens_per_doc: Count | None = None
    max_tokens_per_query: Count | None = None
    truncate_prompt_tokens: Annotated[int, Field(ge=-1)] | None = Field(
        None, description="Tokens read of each document (vLLM); -1 and 0: all."
    )
    truncation_side: Literal["right", "Right"] | None = None
    truncation: bool | None = Field(None, description="false: refuse rather than leave anything unread (Jina).")
    use_activation: bool | None = Field(None, description="false: as raw_scores (vLLM).")
    priority: int | None = Field(None, description="Accepted, without effect.")

    @property
    def raw(self) -> bool:
        """Whether scores are wanted in the scorer's unit."""
        return bool(self.raw_scores) or self.use_activation is False


def asked(request: JinaRequest) -> Asked:
    """Return what is asked for."""
    tokens = [n for n in (request.max_tokens_per_doc, request.truncate_prompt_tokens) if n is not None and n > 0]
    return Asked(
        query=request.query,
        documents=[text_of(one, request.rank_fields) for one in request.documents],
        top_n=request.top_n or None,
        model=request.model,
        limits=TextLimits(min(tokens, default=None), request.max_chunks_per_doc, request.max_tokens_per_query),
        aggregator=request.aggregate,
        passages=request.n_passages,
        may_cut=request.truncation is not False,
        warnings=_not_read(request),
    )


def text_of(document: str | Text, fields: list[str] | None) -> str:
    """Return what is read of a document: its text, or the fields that are named, one after another."""
    if isinstance(document, str):
        return document
    if not fields:
        return document.text
    values = document.model_dump()
    return "\n".join(values[field] for field in fields if isinstance(values.get(field), str))


def _not_read(request: JinaRequest) -> list[str]:
    """Return a sentence for each field to read that documents do not have, or not as text."""
    objects = [one.model_dump() for one in request.documents if request.rank_fields and not isinstance(one, str)]
    without = {
        field: sum(not isinstance(one.get(field), str) for one in objects) for field in request.rank_fields or ()
    }
    return [f"field {field[:100]!r} is no text in {n} of {len(objects)} documents" for field, n in without.items() if n]


def answered(request: JinaRequest, answer: Answer, request_id: str) -> dict[str, Any]:
    """Write an answer down."""
    meta: dict[str, Any] = {"api_version": {"version": "1"}, "billed_units": {"search_units": 1}}
    if answer.warnings:
        meta["warnings"] = answer.warnings
    return {
        "id": request_id,
        "object": "rerank",
        "model": answer.served.name,
        "usage": {"prompt_tokens": answer.n_tokens, "total_tokens": answer.n_tokens},
        "results": [_result(request, answer, one) for one in answer.results],
        "meta": meta,
    }


def _result(request: JinaRequest, answer: Answer, one: RankedText) -> dict[str, Any]:
    result: dict[str, Any] = {"index": one.index, "relevance_score": one.score if request.raw else one.relevance}
    if request.return_documents:
        document = request.documents[one.index]
        result["document"] = {"text": document} if isinstance(document, str) else document.model_dump()
    return {**result, **own_fields(request, answer, one)}
