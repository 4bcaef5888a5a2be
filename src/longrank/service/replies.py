"""Schemas of the answers, for the OpenAPI description; requests are in `dialects`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

Digest = Annotated[
    str | None, Field(description="Digest of the index; places fit documents of the same digest. Null: a store.")
]
Place = Annotated[int, Field(ge=0, description="Offset in code points from the start of the document's text.")]
Relevance = Annotated[float, Field(ge=0, le=1)]


class Problem(BaseModel):
    """A refusal; `error` and `error_type` only on /rerank, `detail` on /v1/rerank, `grades` in a 409 of /judgments."""

    code: str
    message: str
    request_id: str
    error: str | None = None
    error_type: str | None = None
    detail: str | None = None
    grades: dict[str, int] | None = None


class ShownPassage(BaseModel):
    """A passage: ``document[start:end] == text``.

    `words` are offsets of the query's words, `highlights` of the best sentence; `parts` are the scores in a mix.
    `page` counts from 1, and `place` names file and page, if the document has pages. `file` is the address of the page.
    """

    index: int
    start: Place
    end: Place
    score: float
    contribution: float | None = None
    text: str
    words: list[tuple[Place, Place]]
    highlights: list[tuple[Place, Place]]
    parts: dict[str, float] | None = None
    page: int | None = None
    place: str | None = None
    file: str | None = None


class ChangeReply(BaseModel):
    """Numbers of changed documents, and of all documents after the change."""

    added: int
    replaced: int
    deleted: int
    n_docs: int
    warnings: list[str]


class RelevantPassage(ShownPassage):
    """A passage with its score between 0 and 1."""

    relevance: Relevance


class Reading(BaseModel):
    """Passages read of a document, and the origin of its score."""

    unit: str
    aggregator: str
    n_passages: int
    n_scored: int
    n_truncated: int


class OwnFields(BaseModel):
    """Fields that LongRank adds to each result; the last three only with ``evidence: true``.

    `aggregate` is null if the deadline passed before the document was read.

    `strip` has [start, end, score] of every scored passage, by position.
    """

    index: int
    aggregate: float | None
    truncated: bool
    evidence: Reading | None = None
    passages: list[RelevantPassage] | None = None
    strip: list[tuple[float, float, float]] | None = None


class Span(BaseModel):
    """A relevant passage: ``document[start:end]``."""

    start: Place
    end: Place
    score: Relevance


class CohereResult(OwnFields):
    """A ranked document."""

    relevance_score: Relevance
    relevant_spans: list[Span] | None = None
    document: dict[str, str] | None = None


class PartialCounts(BaseModel):
    """Documents of a ranking that its deadline cut short: read, read in part, not read."""

    n_documents: int
    n_read: int
    n_partly: int
    n_unread: int


class Meta(BaseModel):
    """Metadata; `warnings` counts text that was cut and names a model that replaces the requested one."""

    api_version: dict[str, str]
    billed_units: dict[str, int]
    tokens: dict[str, int] | None = None
    warnings: list[str] | None = None
    partial: PartialCounts | None = None


class CohereReply(BaseModel):
    """Reply of Cohere v2; results best first."""

    id: str
    results: list[CohereResult]
    meta: Meta


class JinaResult(OwnFields):
    """A ranked document."""

    relevance_score: float
    document: dict[str, Any] | None = None


class JinaReply(BaseModel):
    """Reply of Cohere v1, Jina, vLLM and Infinity; results best first."""

    id: str
    object: str
    model: str
    usage: dict[str, int]
    results: list[JinaResult]
    meta: Meta


class TeiResult(OwnFields):
    """A ranked text."""

    score: float
    text: str | None = None


class SearchResult(BaseModel):
    """A document of the index; `strip` has [start, end, score] of every scored passage, by position."""

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
    metadata: dict[str, Any]
    strip: list[tuple[float, float, float]]
    file: str | None = None


class FacetValue(BaseModel):
    """A value of a metadata field, and the number of documents with it."""

    value: bool | float | str
    count: int


class SearchReply(BaseModel):
    """Documents, best first; `facets` has the values of fields, by frequency.

    `command` is the equal command line without a deadline.
    """

    request_id: str
    index: str
    digest: Digest
    pipeline: str
    query: str
    unit: str | None
    took_ms: float
    warnings: list[str]
    partial: PartialCounts | None
    command: str
    facets: dict[str, list[FacetValue]]
    results: list[SearchResult]


class DocumentReply(BaseModel):
    """A whole document of the index."""

    doc_id: str
    title: str
    text: str
    digest: Digest


class Judged(BaseModel):
    """Grades of a query's documents; `query_id` is null as long as nothing is judged for a query outside the topics."""

    query_id: str | None
    allowed: bool = Field(description="False if only other queries can be judged.")
    grades: dict[str, int]


class Topic(BaseModel):
    """A query to judge, and the number of its grades."""

    query_id: str
    query: str
    n_judged: int


class TopicsReply(BaseModel):
    """The queries to judge, in order."""

    topics: list[Topic]


class PooledPassage(BaseModel):
    """A passage without its score: ``document[start:end] == text``; offsets as in `ShownPassage`."""

    start: Place
    end: Place
    text: str
    words: list[tuple[Place, Place]]
    highlights: list[tuple[Place, Place]]
    place: str | None = None


class PooledDocument(BaseModel):
    """A document to judge, with its grade; null: no grade; a negative grade means "not judged"."""

    doc_id: str
    title: str
    passages: list[PooledPassage]
    grade: int | None


class PoolReply(BaseModel):
    """The documents to judge for a topic, in an order that hides pipelines and ranks."""

    query_id: str
    query: str
    documents: list[PooledDocument]
