"""Exhaustive search of an index: accumulate the postings of all query terms, then take the best k.

A query is a bag of weighted terms; the weight in a plain query is the number of occurrences. Subclasses such as `BM25`
score postings. No posting is skipped, so the best k are exact for any weights, and any k1, b or mu.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from itertools import islice, pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.index import Index
from longrank.index.accumulate import best
from longrank.index.arrays import Array
from longrank.index.postings import FoundTerms
from longrank.index.similarity import LENGTHS, length_codes
from longrank.retrieval.noting import Noting
from longrank.retrieval.windowed import PackedQuery, Windows
from longrank.text.analysis import note_query
from longrank.types import Float32s, Notes, Query, Ranking, ScoredDoc

MAX_TERMS = 1024
"""Largest number of distinct terms in a query; of more terms, the heaviest are kept."""

MAX_WEIGHT = 1e30
"""Largest weight of a term; sums of scores stay within float32."""


class Hits(NamedTuple):
    """Retrieved documents, best first: numbers in the index, int64[n], and scores, float32[n]."""

    numbers: NDArray[np.int64]
    scores: Float32s


class QueryTerms(NamedTuple):
    """Terms of a query that are in the index, and their postings in a segment of the index.

    Attributes:
        weights: floating[T], from `Searcher._weights`; terms are in alphabetical order.
        dfs: int64[T], documents of the index with each term.
        counts: int64[T], occurrences of each term in the index.
        docs: uint32, document numbers in the segment, ascending for each term.
        tfs: unsigned, occurrences of the term in each document.
        starts: int64[T], starts of the terms in `docs` and `tfs`.
        stops: int64[T], ends of the terms; equal to the start if the segment lacks the term.
        classes: unsigned, length of each document of the segment as a position in `Searcher.lengths`.
    """

    weights: NDArray[np.floating]
    dfs: NDArray[np.int64]
    counts: NDArray[np.int64]
    docs: NDArray[np.uint32]
    tfs: Array
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    classes: Array


class WeightedTerms(NamedTuple):
    """Terms of a query that are in an index, in alphabetical order, and their `Searcher._weights`."""

    found: FoundTerms
    weights: NDArray[np.floating]


class ExpandedQuery(NamedTuple):
    """A query as searched: weighted terms, and whether feedback expanded it."""

    terms: dict[str, float]
    expanded: bool


class Searcher(Noting, ABC):
    """A first stage over an index; safe to use from several threads.

    Attributes:
        index: the index to search.
        notes: counts queries without terms, and terms beyond `MAX_TERMS`.
        lengths: distinct lengths of the similarity.
        doc_lengths: as in the constructor.
        ties: as in the constructor.
    """

    def __init__(
        self, index: Index, *, doc_lengths: str = "lucene", ties: str = "doc_id", notes: Notes | None = None
    ) -> None:
        """Prepare for searching.

        Args:
            index: the index to search.
            doc_lengths: ``lucene``: rounded to one byte, as in Lucene; ``exact``.
            ties: order of equal scores: ``doc_id``: by doc_id descending, as in trec_eval; ``lucene``: ascending,
                as in Anserini.
            notes: notes of the searcher.

        Raises:
            InputError: another value of `doc_lengths` or `ties`.
        """
        check("doc_lengths", doc_lengths, doc_lengths in ("lucene", "exact"), "lucene or exact")
        check("ties", ties, ties in ("doc_id", "lucene"), "doc_id or lucene")
        self.index, self.notes = index, Notes() if notes is None else notes
        self._slots = index.slots
        self._classes, self.lengths = _length_classes(self._slots.lengths, exact=doc_lengths == "exact")
        self.doc_lengths, self.ties = doc_lengths, ties
        self._excluded: NDArray[np.bool_] | None = None
        self._own = threading.local()

    @abstractmethod
    def _add(self, terms: QueryTerms, sums: NDArray[np.float64]) -> None:
        """Add the scores of the terms' postings in a segment to `sums`, float64[documents of the segment].

        Statistics of terms are those of the whole index.
        """

    @property
    def _windows(self) -> Windows | None:
        """The documents, prepared for a model that searches packed postings; else None."""
        return None

    def _packed_weights(self, query: WeightedTerms) -> NDArray[np.floating]:
        """Return the weights for `_windows`."""
        return query.weights

    def _weights(self, weights: NDArray[np.float64], dfs: NDArray[np.int64]) -> NDArray[np.floating]:
        """Return the weights for `_add`, of the weights in the query and the document frequencies of the terms."""
        return weights

    def query_terms(self, query: Query) -> dict[str, float]:
        """Return term -> number of occurrences in a query; queries without terms are counted."""
        terms = self.index.query_terms(query)
        if not terms:
            self.notes.add("queries without terms after analysis", query.query_id)
        note_query(query, self.index.query_terms, self.notes)
        return self.heaviest(terms, query.query_id)

    def heaviest(self, weights: Mapping[str, float], query_id: str) -> dict[str, float]:
        """Return the `MAX_TERMS` heaviest terms, ties in alphabetical order; the other terms are counted."""
        self.notes.add(f"query terms left out, beyond the {MAX_TERMS} heaviest", query_id, len(weights) - MAX_TERMS)
        if len(weights) <= MAX_TERMS:
            return dict(weights)
        return dict(sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:MAX_TERMS])

    def expand(self, query: Query) -> ExpandedQuery:
        """Return the terms of the query, without expansion."""
        return ExpandedQuery(self.query_terms(query), expanded=False)

    def search(self, weights: Mapping[str, float], k: int) -> Hits:
        """Return the best documents for weighted terms, among documents with any of them.

        Args:
            weights: analysed terms with weights above 0, at most `MAX_WEIGHT`.
            k: largest number of documents, >= 1.

        Raises:
            InputError: k < 1, or a weight out of range.
        """
        return self.search_all([weights], k)[0]

    def search_all(self, queries: Sequence[Mapping[str, float]], k: int) -> list[Hits]:
        """Return the best documents for each of some queries, as `search`; less work than a call for each query."""
        check("k", k, k >= 1, "at least 1")
        found = [self._found(weights) for weights in queries]
        hits = self._best([one for one in found if len(one.weights)], k)
        return [next(hits) if len(one.weights) else _no_hits() for one in found]

    def _best(self, queries: Sequence[WeightedTerms], k: int) -> Iterator[Hits]:
        """Yield the best documents for each query of at least one term; the same, but faster, for packed postings."""
        windows, postings = self._windows, [query.found.packed for query in queries]
        packed = [terms for terms in postings if terms is not None]
        if windows is None or len(packed) < len(queries):
            yield from (self._exhaustive(query, k) for query in queries)
            return
        prepared = list(map(PackedQuery, packed, map(self._packed_weights, queries)))
        for slots, scores in windows.search(prepared, k, self.ties == "doc_id", self._excluded):
            yield Hits(self._slots.numbers(slots), scores)

    def _exhaustive(self, query: WeightedTerms, k: int) -> Hits:
        sums, slots, found = self._sums(), self._slots, query.found
        for segment, (first, end) in zip(found.segments, pairwise(slots.bases.tolist()), strict=True):
            terms = QueryTerms(query.weights, found.dfs, found.counts, *segment.decoded(), self._classes[first:end])
            self._add(terms, sums[first:end])
        sums[slots.dead] = -0.0  # as if no term occurred in them
        if self._excluded is not None:
            np.copyto(sums, -0.0, where=self._excluded)
        best_slots, scores = best(sums, slots.ranks, k, descending=self.ties == "doc_id")
        return Hits(slots.numbers(best_slots), scores)

    def retrieve(self, query: Query, k: int) -> list[ScoredDoc]:
        """Return at most `k` documents with a query term, best first; none for a query without terms.

        Raises:
            InputError: k < 1.
        """
        return self.retrieve_block([query], k)[0].rows()

    def retrieve_block(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Return the documents of each query, as `retrieve`."""
        return self.rankings(queries, self.search_all([self.query_terms(query) for query in queries], k))

    def rankings(self, queries: Sequence[Query], hits: Sequence[Hits]) -> list[Ranking]:
        """Return the hits of each query with document ids, which are read together."""
        ids = iter(self.index.doc_ids(np.concatenate([_no_hits().numbers, *(one.numbers for one in hits)])))
        return [
            Ranking(query.query_id, list(islice(ids, len(one.numbers))), one.scores.tolist())
            for query, one in zip(queries, hits, strict=True)
        ]

    def noting(self, notes: Notes) -> Self:
        """Return the same searcher with other notes."""
        _ = self._windows  # made once, for all copies
        return super().noting(notes)

    def within(self, mask: NDArray[np.bool_]) -> Self:
        """Return the same searcher among the documents of a mask, bool[D]; statistics and scores stay the same."""
        _ = self._windows
        searcher = copy(self)
        searcher._excluded = ~self._slots.spread(mask)
        return searcher

    def _found(self, weights: Mapping[str, float]) -> WeightedTerms:
        """Return the terms that are in the index."""
        for term, weight in weights.items():
            if not 0 < weight <= MAX_WEIGHT:
                raise InputError(f"weight of term {term!r} must be above 0 and at most {MAX_WEIGHT:g}", got=weight)
        ordered = sorted(weights)  # the order of the numbers of terms
        found = self.index.inverted.found(ordered)
        given = np.array([weights[ordered[n]] for n in found.places.tolist()])
        return WeightedTerms(found, self._weights(given, found.dfs))

    def _sums(self) -> NDArray[np.float64]:
        """Return the accumulators of this thread, reset for `longrank.index.accumulate`."""
        if not hasattr(self._own, "sums"):
            self._own.sums = np.empty(len(self._slots.lengths))
        sums: NDArray[np.float64] = self._own.sums
        sums.fill(-0.0)
        return sums


def _no_hits() -> Hits:
    return Hits(np.empty(0, np.int64), np.empty(0, np.float32))


def _length_classes(lengths: Array, *, exact: bool) -> tuple[Array, NDArray[np.int64]]:
    """Return the class of each document, and the length of each class."""
    if exact:
        return lengths, np.arange(int(lengths.max(initial=0)) + 1)
    return length_codes(lengths), LENGTHS


def check(name: str, value: object, good: bool, expected: str) -> None:
    """Refuse a parameter out of range.

    Raises:
        InputError: `good` is false; names the `expected` range.
    """
    if not good:
        raise InputError(f"{name} must be {expected}", got=value)
