"""The union of Cohere v1, Jina, vLLM and Infinity, which differ in their optional fields."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from longrank.ranking.found import RankedText
from longrank.ranking.prepared_texts import TextLimits
from longrank.service.dialects.common import Count, Documents, NonEmpty, Request, own_fields
from longrank.service.rerank import Answer, RerankRequest


class Text(BaseModel):
    """A document as an object."""

    model_config = ConfigDict(extra="allow", strict=True)

    text: str | None = None


TEXT_TAGS = ("a document's text", "an object with a document's text")
TextOrObject = Annotated[
    Annotated[str, Tag(TEXT_TAGS[0])] | Annotated[Text, Tag(TEXT_TAGS[1])],
    Discriminator(lambda value: TEXT_TAGS[isinstance(value, dict | Text)]),
]


class JinaRequest(Request):
    """A request of Cohere v1, Jina, vLLM or Infinity."""

    model: NonEmpty | None = None
    query: NonEmpty
    rank_fields: Annotated[list[str], Field(max_length=16)] | None = Field(
        None, description="String fields of document objects to read (Cohere v1). Default: text."
    )
    documents: Annotated[list[TextOrObject], Documents]
    top_n: Annotated[int, Field(ge=0, le=1_000_000)] | None = Field(None, description="0: all (vLLM).")
    return_documents: bool | None = None
    raw_scores: bool | None = Field(None, description="Scores in the scorer's unit (Infinity).")
    max_chunks_per_doc: Count | None = Field(None, description="Passages read of each document (Cohere v1).")
    max_tokens_per_doc: Count | None = None
    max_tokens_per_query: Count | None = None
    truncate_prompt_tokens: Annotated[int, Field(ge=-1)] | None = Field(
        None, description="Tokens read of each document (vLLM); -1 and 0: all."
    )
    truncation_side: Literal["right", "Right"] | None = None
    truncation: bool | None = Field(None, description="false: refuse the request if text would stay unread (Jina).")
    use_activation: bool | None = Field(None, description="false: as raw_scores (vLLM).")
    priority: int | None = Field(None, description="Ignored.")

    @field_validator("documents")
    @classmethod
    def _check_texts(cls, documents: list[str | Text], info: ValidationInfo) -> list[str | Text]:
        if not info.data.get("rank_fields"):
            for n, document in enumerate(documents):
                if isinstance(document, Text) and document.text is None:
                    raise PydanticCustomError(
                        "text", "object {n} has no text; add text, or name its fields in rank_fields", {"n": n}
                    )
        return documents

    @property
    def raw(self) -> bool:
        """True for scores in the scorer's unit."""
        return bool(self.raw_scores) or self.use_activation is False


def to_request(request: JinaRequest) -> RerankRequest:
    """Return the request, independent of the dialect."""
    tokens = [n for n in (request.max_tokens_per_doc, request.truncate_prompt_tokens) if n is not None and n > 0]
    return RerankRequest(
        query=request.query,
        documents=[text_of(document, request.rank_fields) for document in request.documents],
        top_n=request.top_n or None,
        model=request.model,
        limits=TextLimits(min(tokens, default=None), request.max_chunks_per_doc, request.max_tokens_per_query),
        aggregator=request.aggregate,
        passages=request.n_passages,
        seconds=request.deadline,
        may_cut=request.truncation is not False,
        warnings=_not_read(request),
    )


def text_of(document: str | Text, fields: list[str] | None) -> str:
    """Return the text of a document: its `text`, or `fields` of an object, one per line."""
    if isinstance(document, str):
        return document
    if not fields:
        return document.text or ""  # which has been checked
    values = document.model_dump()
    return "\n".join(values[field] for field in fields if isinstance(values.get(field), str))


def _not_read(request: JinaRequest) -> list[str]:
    """Return a sentence for each requested field that some documents lack or that is not text."""
    if not request.rank_fields:
        return []
    objects = [item.model_dump() for item in request.documents if not isinstance(item, str)]
    if not objects:
        return ["rank_fields has no effect: no document is an object"]
    without = {field: sum(not isinstance(item.get(field), str) for item in objects) for field in request.rank_fields}
    return [
        f"field {field[:100]!r} is not text in {n} of {len(objects)} documents" for field, n in without.items() if n
    ]


def reply(request: JinaRequest, answer: Answer, request_id: str) -> dict[str, Any]:
    """Return the reply as JSON values."""
    meta: dict[str, Any] = {"api_version": {"version": "1"}, "billed_units": {"search_units": 1}}
    if answer.partial is not None:
        meta["partial"] = answer.partial.json()
    if answer.warnings:
        meta["warnings"] = answer.warnings
    return {
        "id": request_id,
        "object": "rerank",
        "model": answer.pipeline,
        "usage": {"prompt_tokens": answer.n_tokens, "total_tokens": answer.n_tokens},
        "results": [_result(request, answer, ranked) for ranked in answer.results],
        "meta": meta,
    }


def _result(request: JinaRequest, answer: Answer, ranked: RankedText) -> dict[str, Any]:
    result: dict[str, Any] = {
        "index": ranked.index,
        "relevance_score": ranked.score if request.raw else ranked.relevance,
    }
    if request.return_documents:
        document = request.documents[ranked.index]
        result["document"] = (
            {"text": document} if isinstance(document, str) else document.model_dump(exclude_unset=True)
        )
    return {**result, **own_fields(request, answer, ranked)}
