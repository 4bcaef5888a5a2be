"""The shapes of answers, for the OpenAPI description; requests are in `dialects`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

Place = Annotated[int, Field(ge=0, description="Code points from the beginning of the document's text.")]
Relevance = Annotated[float, Field(ge=0, le=1)]


class Problem(BaseModel):
    """Why a request is not answered; `error` and `error_type` only on /rerank, `detail` only on /v1/rerank."""

    code: str
    message: str
    request_id: str
    error: str | None = None
    error_type: str | None = None
    detail: str | None = None


class ShownPassage(BaseModel):
    """A passage: ``document[start:end] == text``; `words` are the query's, in the same offsets."""

    index: int
    start: Place
    end: Place
    score: float
    contribution: float | None = None
    text: str
    words: list[tuple[int, int]]


class RelevantPassage(ShownPassage):
    """A passage with its score between 0 and 1."""

    relevance: Relevance


class Reading(BaseModel):
    """How much of a document was read, and how its score came about."""

    unit: str
    aggregator: str
    n_passages: int
    n_scored: int
    n_truncated: int


class OwnFields(BaseModel):
    """What LongRank adds to a result of any dialect; the last two where evidence was asked for."""

    index: int
    aggregate: float
    truncated: bool
    evidence: Reading | None = None
    passages: list[RelevantPassage] | None = None


class Span(BaseModel):
    """A relevant passage: ``document[start:end]``."""

    start: Place
    end: Place
    score: Relevance


class CohereResult(OwnFields):
    """A document's place."""

    relevance_score: Relevance
    relevant_spans: list[Span] | None = None
    document: dict[str, str] | None = None


class Meta(BaseModel):
    """Remarks above all: whatever was cut, or answered by another model than was asked for."""

    api_version: dict[str, str]
    billed_units: dict[str, int]
    tokens: dict[str, int] | None = None
    warnings: list[str] | None = None


class CohereReply(BaseModel):
    """Cohere's v2, best first."""

    id: str
    results: list[CohereResult]
    meta: Meta


class JinaResult(OwnFields):
    """A document's place."""

    relevance_score: float
    document: dict[str, Any] | None = None


class JinaReply(BaseModel):
    """Cohere's v1, Jina's, vLLM's and Infinity's, best first."""

    id: str
    object: str
    model: str
    usage: dict[str, int]
    results: list[JinaResult]
    meta: Meta


class TeiResult(OwnFields):
    """A text's place."""

    score: float
    text: str | None = None


class SearchResult(BaseModel):
    """A document of the index; `strip` is [start, end, score] of every scored passage, in order."""

    rank: int
    doc_id: str
    title: str
    score: float
    first_stage: float
    aggregate: float | None
    n_passages: int
    n_scored: int
    n_truncated: int
    n_characters: int
    passages: list[ShownPassage]
    strip: list[tuple[float, float, float]]


class SearchReply(BaseModel):
    """Documents, best first; `command` searches the same on the command line."""

    request_id: str
    index: str
    pipeline: str
    query: str
    unit: str | None
    took_ms: float
    warnings: list[str]
    command: str
    results: list[SearchResult]


class DocumentReply(BaseModel):
    """A document of the index, whole."""

    doc_id: str
    title: str
    text: str
