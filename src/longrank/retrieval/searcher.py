"""Searching an index by accumulation: all postings of the query's terms, then the best k.

A query is a bag of weighted terms (a plain one weighs each term by how often it occurs), which is also
what query expansion produces. `BM25` and `QueryLikelihood` say what a posting is worth; the rest is
here. Nothing is skipped, so the best k are exact for any weights, and any k1, b or mu.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from copy import copy
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.index import Index
from longrank.index.accumulate import best
from longrank.index.arrays import Array
from longrank.index.similarity import LENGTHS, length_codes
from longrank.types import Float32s, Notes, Query, ScoredDoc, scored_docs

MAX_TERMS = 1024
"""Distinct terms of a query that are searched for; of more, the heaviest."""

_MANY = 500_000  # documents, from where two threads answer sooner than one (1.4 times as soon for a million)


class Hits(NamedTuple):
    """Documents found, best first: their numbers in the index, int64[n], and scores, float32[n]."""

    numbers: NDArray[np.int64]
    scores: Float32s


class QueryTerms(NamedTuple):
    """Terms of a query that the index holds.

    Attributes:
        numbers: int64[T], their numbers in the index, ascending.
        weights: float64[T], their weights in the query.
        starts: int64[T], where their postings begin.
        stops: int64[T], where they end.
    """

    numbers: NDArray[np.int64]
    weights: NDArray[np.float64]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]

    @property
    def dfs(self) -> NDArray[np.int64]:
        """How many documents hold each term."""
        return self.stops - self.starts


class ExpandedQuery(NamedTuple):
    """What is searched for: terms with weights, and whether feedback has made them."""

    terms: dict[str, float]
    expanded: bool


class Searcher(ABC):
    """A first stage over an index; safe to use from several threads.

    Attributes:
        index: what is searched.
        notes: counts queries without terms, and terms beyond `MAX_TERMS`.
        classes: unsigned[D], the length of each document as a place in `lengths`.
        lengths: the lengths that the similarity tells apart.
        doc_lengths: as given.
        ties: as given.
    """

    def __init__(
        self, index: Index, *, doc_lengths: str = "lucene", ties: str = "doc_id", notes: Notes | None = None
    ) -> None:
        """Prepare for searching.

        Args:
            index: what is searched.
            doc_lengths: ``lucene`` rounds lengths to one byte as Lucene does; ``exact`` does not.
            ties: ``doc_id``: equal scores by doc_id descending, as trec_eval orders them;
                ``lucene``: ascending, as Anserini does.
            notes: where remarks go.

        Raises:
            InputError: another word for `doc_lengths` or `ties`.
        """
        check("doc_lengths", doc_lengths, doc_lengths in ("lucene", "exact"), "lucene or exact")
        check("ties", ties, ties in ("doc_id", "lucene"), "doc_id or lucene")
        self.index, self.notes = index, Notes() if notes is None else notes
        self.classes, self.lengths = _length_classes(index.lengths, exact=doc_lengths == "exact")
        self.doc_lengths, self.ties = doc_lengths, ties
        self._own = threading.local()

    @abstractmethod
    def _add(self, terms: QueryTerms, sums: NDArray[np.float64]) -> None:
        """Add the scores of the terms' postings to float64[D]."""

    def query_terms(self, query: Query) -> dict[str, float]:
        """Return the terms of a query with how often each occurs; queries without any are counted."""
        terms = Counter(self.index.analyzer(query.text))
        if not terms:
            self.notes.add("queries without terms after analysis", query.query_id)
        return self.heaviest(terms, query.query_id)

    def heaviest(self, weights: Mapping[str, float], query_id: str) -> dict[str, float]:
        """Return the `MAX_TERMS` heaviest terms, of equal ones the first in the alphabet; the others are counted."""
        self.notes.add(f"query terms left out, beyond the {MAX_TERMS} heaviest", query_id, len(weights) - MAX_TERMS)
        if len(weights) <= MAX_TERMS:
            return dict(weights)
        return dict(sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:MAX_TERMS])

    def expand(self, query: Query) -> ExpandedQuery:
        """Return what is searched for: the terms of the query, as they are."""
        return ExpandedQuery(self.query_terms(query), expanded=False)

    def search(self, weights: Mapping[str, float], k: int) -> Hits:
        """Return the best documents for weighted terms; only documents that hold one of them.

        Args:
            weights: analysed terms with positive weights.
            k: how many at most, >= 1.

        Raises:
            InputError: k < 1, or a weight that is not positive and finite.
        """
        check("k", k, k >= 1, "at least 1")
        sums = self._sums()
        self._add(self._known(weights), sums)
        return Hits(*best(sums, self.index.id_ranks, k, descending=self.ties == "doc_id"))

    def retrieve(self, query: Query, k: int) -> list[ScoredDoc]:
        """Return at most `k` documents that hold a term of the query, best first; none if it has no terms.

        Raises:
            InputError: k < 1.
        """
        return self.rows(query, self.search(self.query_terms(query), k))

    def rows(self, query: Query, hits: Hits) -> list[ScoredDoc]:
        """Return what was found with ids."""
        return scored_docs(query.query_id, self.index.doc_ids(hits.numbers), hits.scores.tolist())

    @property
    def parallel(self) -> bool:
        """Whether several threads answer queries sooner than one; few documents are searched before a turn is taken."""
        return self.index.n_docs >= _MANY

    def noting(self, notes: Notes) -> Self:
        """Return the same searcher with another place for remarks."""
        other = copy(self)
        other.notes = notes
        return other

    def _known(self, weights: Mapping[str, float]) -> QueryTerms:
        for term, weight in weights.items():
            if not 0 < weight < float("inf"):
                raise InputError(f"weight of term {term!r} must be positive and finite", got=weight)
        found = {number: w for term, w in weights.items() if (number := self.index.term_number(term)) is not None}
        numbers = np.array(sorted(found), np.int64)
        starts = self.index.inverted.starts
        return QueryTerms(
            numbers,
            np.array([found[number] for number in numbers.tolist()], np.float64),
            starts[numbers].astype(np.int64),
            starts[numbers + 1].astype(np.int64),
        )

    def _sums(self) -> NDArray[np.float64]:
        """Return the accumulators of this thread, as `longrank.index.accumulate` wants them."""
        if not hasattr(self._own, "sums"):
            self._own.sums = np.empty(self.index.n_docs)
        sums: NDArray[np.float64] = self._own.sums
        sums.fill(-0.0)
        return sums


def _length_classes(lengths: Array, *, exact: bool) -> tuple[Array, NDArray[np.int64]]:
    """Return the class of each document, and the length each class stands for."""
    if exact:
        return lengths, np.arange(int(lengths.max(initial=0)) + 1)
    return length_codes(lengths), LENGTHS


def check(name: str, value: object, good: bool, wanted: str) -> None:
    """Refuse a parameter out of range.

    Raises:
        InputError: `good` is false; says what is `wanted`.
    """
    if not good:
        raise InputError(f"{name} must be {wanted}", got=value)
