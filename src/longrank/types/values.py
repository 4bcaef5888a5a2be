"""Queries, documents, passages and evidence: plain and immutable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Float32s: TypeAlias = NDArray[np.float32]
Int32s: TypeAlias = NDArray[np.int32]

Span: TypeAlias = tuple[int, int]
"""Half-open (start, end) in code points of a document's text."""

UNMATCHED: Span = (0xFFFFFFFF, 0xFFFFFFFF)
"""The only span of a document whose own passages do not match its text."""

Heading: TypeAlias = tuple[int, int, int]
"""Half-open (start, end) in code points of a document's text, and the level from 1."""

Qrels: TypeAlias = Mapping[str, Mapping[str, int]]
"""query_id -> doc_id -> grade; grades below zero mean "not judged", as trec_eval reads them."""


@dataclass(frozen=True, slots=True)
class Query:
    """An information need.

    Attributes:
        query_id: its id.
        text: the text to search for.
        fields: all texts of the source (``title``, ``description``, ``narrative``, ...).
    """

    query_id: str
    text: str
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """A whole document: it is never cut before it is split into passages.

    Attributes:
        doc_id: its id.
        title: its title, possibly empty; offsets do not count it.
        text: its text, possibly empty.
        passages: the source's own (start, end) spans in `text`; empty if it has none; `UNMATCHED` alone if they do
            not match the text.
        metadata: the record's other fields, as JSON values.
        headings: (start, end, level) of the headings in `text`, in order; levels count from 1.
    """

    doc_id: str
    title: str
    text: str
    passages: tuple[tuple[int, int], ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    headings: tuple[Heading, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document: ``text == document.text[start:end]``. Its identity is (doc_id, index).

    Attributes:
        doc_id: the document's id.
        index: 0-based position among all passages of the document, even if passages were left out.
        text: the passage.
        start: first code point in the document's text.
        end: one past the last code point.
    """

    doc_id: str
    index: int
    text: str
    start: int
    end: int


class Segmentation(NamedTuple):
    """The passages of a document: at least one, in order of appearance.

    ``n_passages`` counts the passages before a cap, so ``n_passages - len(passages)`` were left out. ``title`` is the
    beginning of a title that is too long to be read before each passage; None: the title is not cut.
    """

    passages: tuple[Passage, ...]
    n_passages: int
    title: str | None = None


class ScoredDoc(NamedTuple):
    """A document's score for a query; field names as in ir_datasets and ir_measures."""

    query_id: str
    doc_id: str
    score: float


class Missing(NamedTuple):
    """Documents of a first stage that the index lacked when it was reranked.

    Attributes:
        documents: they are ranked after all others.
        unranked: queries of which no document was reranked; without evidence from elsewhere, their ranking stays.
    """

    documents: frozenset[str] = frozenset()
    unranked: frozenset[str] = frozenset()

    def last(self, query_id: str, *, reranked: bool) -> frozenset[str]:
        """Return the documents to rank last for a query; `reranked`: the query has evidence."""
        return self.documents if reranked or query_id not in self.unranked else frozenset()


NONE_MISSING = Missing()


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """A scorer's result for the P >= 1 passages of a (query, document) pair.

    Attributes:
        query_id: the query.
        doc_id: the document.
        first_stage: its score in the first-stage run; NaN if only a reranked run is known.
        passage_index: int32[P], ascending: index of each scored passage.
        passage_start: int32[P], first code point of each passage in the document's text.
        passage_end: int32[P], one past the last code point.
        passage_score: float32[P], in the unit of the evidence file.
        passage_weight: float32[P]: query terms in the sentence (Weighted Mean), or the attribution of an aggregating
            network; else 1.
        n_passages: passages of the document before a cap or a selection.
        n_truncated: scored passages that the scorer truncated.
        document_score: set only by networks that aggregate passages themselves.
        passage_parts: set only where several scorers are mixed into `passage_score`: name of the scorer -> its own
            scores, float32[P]; the main scorer first.
    """

    query_id: str
    doc_id: str
    first_stage: float
    passage_index: Int32s
    passage_start: Int32s
    passage_end: Int32s
    passage_score: Float32s
    passage_weight: Float32s
    n_passages: int
    n_truncated: int
    document_score: float | None = None
    passage_parts: Mapping[str, Float32s] | None = None

    @property
    def worth(self) -> Float32s:
        """Return the values that order the passages, float32[P]: scores, or contributions in a document network."""
        return self.passage_score if self.document_score is None else self.passage_weight

    def best_first(self) -> NDArray[np.int64]:
        """Return the places of the passages in the arrays, int64[P], best first; ties in order of appearance."""
        return np.argsort(-self.worth, kind="stable")


_scored_doc = partial(tuple.__new__, ScoredDoc)  # ScoredDoc._make without a Python call per row


def scored_docs(query_id: str, doc_ids: Iterable[str], scores: Iterable[float]) -> list[ScoredDoc]:
    """Return a `ScoredDoc` of the query for each id and score; several times as fast as the constructor."""
    return list(map(_scored_doc, zip(repeat(query_id), doc_ids, scores)))


class Ranking(NamedTuple):
    """The documents of a query, best first, in columns: less time and memory than a row for each document."""

    query_id: str
    doc_ids: Sequence[str]
    scores: Sequence[float]

    @classmethod
    def of(cls, query_id: str, rows: Sequence[ScoredDoc]) -> Ranking:
        """Return the ranking of these rows."""
        return cls(query_id, [row.doc_id for row in rows], [row.score for row in rows])

    def rows(self) -> list[ScoredDoc]:
        """Return the documents as rows."""
        return scored_docs(*self)
