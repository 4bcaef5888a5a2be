"""Protocols of the stages of a ranking.

Query --Retriever--> [ScoredDoc] --DocumentStore--> Document --Segmenter--> [Passage] --Selector--> [Passage]
      PassageScorer --> float32[P] --> Evidence --Aggregator--> score
      (or a DocumentScorer that reads the passages itself)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from longrank.types import Document, Evidence, Float32s, Passage, Query, ScoredDoc, Segmentation


class DocumentStore(Protocol):
    """Random access to whole documents."""

    def __contains__(self, doc_id: object) -> bool: ...

    def document(self, doc_id: str) -> Document:
        """Return the document.

        Raises:
            KeyError: no such document.
        """
        ...


class Retriever(Protocol):
    """A first stage: finds candidates for a query."""

    def retrieve(self, query: Query, k: int) -> list[ScoredDoc]:
        """Return at most `k` documents, best first, ties by doc_id descending."""
        ...


@runtime_checkable
class MaskedRetriever(Retriever, Protocol):
    """A first stage that can leave documents out before it takes the best."""

    def within(self, mask: NDArray[np.bool_]) -> Self:
        """Return the same first stage among the documents of a mask, bool[D]; scores stay the same."""
        ...


class Segmenter(Protocol):
    """Splits a document into passages; the same document always gives the same passages."""

    @property
    def fingerprint(self) -> str:
        """Fingerprint of rule and options; equal fingerprints mean equal passages."""
        ...

    def segment(self, document: Document) -> Segmentation:
        """Return at least one passage; an empty document is one empty passage."""
        ...


class CollectionStatistics(Protocol):
    """The statistics of a collection that BM25 reads; an index has them."""

    @property
    def n_nonempty(self) -> int:
        """Number of documents that hold a term, N."""
        ...

    @property
    def avgdl(self) -> float:
        """Mean number of terms of these documents; 0 if there are none."""
        ...

    def query_terms(self, query: Query) -> Mapping[str, int]:
        """Return the terms of a query with their numbers of occurrences."""
        ...

    def document_analyzer(self, doc_id: str) -> Callable[[str], list[str]]:
        """Return the function that turns the text of a document into terms."""
        ...

    @property
    def digest(self) -> str:
        """Names the content of the collection."""
        ...

    def df(self, term: str) -> int:
        """Return the number of documents that hold `term`."""
        ...


class ScoringTask(NamedTuple):
    """One (query, document) pair for a passage scorer.

    ``texts[i]`` is the text to read for ``passages[i]``: the passage, after the title if the pipeline sets
    ``title = true``. ``statistics`` are those of the documents that came with the query; None: use the index's.
    """

    query: Query
    doc_id: str
    passages: tuple[Passage, ...]
    texts: tuple[str, ...]
    statistics: CollectionStatistics | None = None


class Selected(NamedTuple):
    """Passages of a task to score: positions intp[P], ascending, and a weight for each, float32[P]; unasked: ones."""

    positions: NDArray[np.intp]
    weights: Float32s


class Selector(Protocol):
    """Chooses the passages of documents to score; at least one of each document.

    A call gets a block of tasks with all tasks of a query together, so that the documents of a query can share a
    budget. The choice is a pure function of the tasks of the query.
    """

    @property
    def fingerprint(self) -> str:
        """Fingerprint of rule and options."""
        ...

    def select(self, tasks: Sequence[ScoringTask], *, weights: bool = True) -> list[Selected]:
        """Return the chosen passages of each task; with `weights` false, their weights may be ones."""
        ...


class PassageScores(NamedTuple):
    """Scores of a task: float32[P], and bool[P]: True for a truncated text.

    A network that aggregates passages itself also gives the document's score, and the contribution of each passage to
    it, float32[P]. Of several scorers, `scores` are the main scorer's and ``parts`` has the scores of each, by name.
    """

    scores: Float32s
    truncated: NDArray[np.bool_]
    document: float | None = None
    contributions: Float32s | None = None
    parts: Mapping[str, Float32s] | None = None


class PassageScorer(Protocol):
    """Scores the relevance of each passage to the query.

    A call gets a block of tasks. The last bits of scores may depend on the composition of the block, but not on earlier
    blocks, so that a resumed run gives the bytes of an undisturbed run.

    Attributes:
        needs_model: true: built as ``(model, *, notes, **options)``; false: as ``(index or None, **options)``.
        example: a model to suggest; only with `needs_model`.
        scores_documents: true: `PassageScores.document` is set, for the aggregator ``document``.
    """

    needs_model: bool
    scores_documents: bool

    @property
    def unit(self) -> str:
        """Unit of the scores: ``logit``, ``cosine``, ``bm25``, ..."""
        ...

    @property
    def fingerprint(self) -> str:
        """Fingerprint of weights and options; equal fingerprints mean equal scores."""
        ...

    def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
        """Return the scores of each task.

        Raises:
            LongRankError: a score is not finite; names query, document and passage.
        """
        ...


class Candidate(NamedTuple):
    """A document to score for a query, with its first-stage score."""

    query: Query
    document: Document
    first_stage: float


class DocumentScorer(Protocol):
    """Turns candidates into evidence: a passage scorer with its segmenter, or a network that aggregates."""

    @property
    def unit(self) -> str:
        """The unit of the passage scores."""
        ...

    @property
    def fingerprint(self) -> str:
        """Fingerprint of everything that the evidence depends on besides query and document."""
        ...

    def evidence(self, block: Sequence[Candidate]) -> Sequence[Evidence | None]:
        """Return an Evidence per candidate, in order; None: skipped, since it cannot rank high."""
        ...

    def cuts_query(self, query: str) -> bool:
        """Tell whether the query is truncated."""
        ...


class Aggregator(Protocol):
    """Turns the evidence of one document into its score: a pure function, numpy only."""

    def __call__(self, evidence: Evidence) -> float:
        """Return the document's score; finite for every evidence."""
        ...
