"""BM25 over the whole collection, by accumulation: all postings of the query's terms, then the best k.

The query is a bag of weighted terms (a plain query weighs each term by how often it occurs), which
is also what query expansion produces. Sums are made in double precision and rounded once, as in
Lucene. The best k are exact, ties by doc_id included, without sorting all that matched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.index import Index
from longrank.index.similarity import LENGTHS, idf, inverse_norms, length_codes, term_scores
from longrank.types import Float32s, Notes, Query, ScoredDoc

MAX_TERMS = 1024
"""Distinct terms of a query that are searched for; of more, the heaviest."""


class BM25:
    """A first stage over an index.

    Attributes:
        index: what is searched.
        k1: saturation of term frequency, >= 0.
        b: how much document length counts, 0 to 1.
    """

    def __init__(
        self,
        index: Index,
        k1: float = 0.9,
        b: float = 0.4,
        *,
        doc_lengths: str = "lucene",
        ties: str = "doc_id",
        notes: Notes | None = None,
    ) -> None:
        """Prepare for searching.

        Args:
            index: what is searched.
            k1: 0 counts only whether a term occurs.
            b: 0 ignores document length.
            doc_lengths: ``lucene`` rounds lengths to one byte as Lucene does; ``exact`` does not.
            ties: ``doc_id``: equal scores by doc_id descending, as trec_eval orders them;
                ``lucene``: ascending.
            notes: counts queries without terms, and terms beyond `MAX_TERMS`.

        Raises:
            InputError: a parameter out of range.
        """
        _check("k1", k1, 0 <= k1 < float("inf"), "a finite number from 0")
        _check("b", b, 0 <= b <= 1, "between 0 and 1")
        _check("doc_lengths", doc_lengths, doc_lengths in ("lucene", "exact"), "lucene or exact")
        _check("ties", ties, ties in ("doc_id", "lucene"), "doc_id or lucene")
        self.index, self.k1, self.b = index, k1, b
        self.notes = Notes() if notes is None else notes
        lengths = LENGTHS[length_codes(index.lengths)] if doc_lengths == "lucene" else index.lengths
        self._norms = inverse_norms(lengths, index.avgdl or 1.0, k1, b)
        self._descending = ties == "doc_id"

    def retrieve(self, query: Query, k: int) -> list[ScoredDoc]:
        """Return at most `k` documents that hold a term of the query, best first; none if it has no terms.

        Raises:
            InputError: k < 1.
        """
        weights = Counter(self.index.analyzer(query.text))
        if not weights:
            self.notes.add("queries without terms after analysis", query.query_id)
        left_out = len(weights) - MAX_TERMS
        self.notes.add(f"query terms left out, beyond the {MAX_TERMS} heaviest", query.query_id, left_out)
        return [ScoredDoc(query.query_id, *hit) for hit in self.search_terms(weights, k)]

    def search_terms(self, weights: Mapping[str, float], k: int) -> list[tuple[str, float]]:
        """Return the best (doc_id, score) for weighted terms, at most `k`, best first.

        Args:
            weights: analysed terms with positive weights; of more than `MAX_TERMS` the heaviest
                (equal ones in alphabetical order).
            k: how many at most, >= 1.

        Raises:
            InputError: k < 1, or a weight that is not positive and finite.
        """
        _check("k", k, k >= 1, "at least 1")
        for term, weight in weights.items():
            _check(f"weight of term {term!r}", weight, 0 < weight < float("inf"), "positive and finite")
        heaviest = sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:MAX_TERMS]
        found, scores = self._best(*self._accumulated(sorted(heaviest)), k)
        return list(zip(self.index.doc_ids(found), scores.tolist(), strict=True))

    def _accumulated(self, weighted: list[tuple[str, float]]) -> tuple[NDArray[np.intp], Float32s]:
        """Return the numbers of all documents that hold a term, ascending, and their scores."""
        sums = np.zeros(self.index.n_docs, np.float64)
        matched = np.zeros(self.index.n_docs, np.bool_)
        for term, weight in weighted:
            numbers, tfs = self.index.postings(term)
            docs = numbers.astype(np.intp)  # once, or numpy does it at each use below
            if len(docs):
                factor = np.float32(weight) * idf(len(docs), self.index.n_nonempty)
                sums[docs] += term_scores(factor, tfs, self._norms[docs])
                matched[docs] = True
        found = np.flatnonzero(matched)
        return found, sums[found].astype(np.float32)

    def _best(self, found: NDArray[np.intp], scores: Float32s, k: int) -> tuple[NDArray[np.intp], Float32s]:
        """Return the k best of them in order; all that tie with the last are compared by id."""
        if len(found) > k:
            last = np.partition(scores, len(scores) - k)[len(scores) - k]
            keep = np.flatnonzero(scores >= last)
            found, scores = found[keep], scores[keep]
        ranks = self.index.id_ranks[found].astype(np.int64)
        order = np.lexsort((-ranks if self._descending else ranks, -scores))[:k]
        return found[order], scores[order]


def _check(name: str, value: object, good: bool, wanted: str) -> None:
    if not good:
        raise InputError(f"{name} must be {wanted}", got=value)
