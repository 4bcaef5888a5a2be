"""BM25PRF: common terms of feedback documents, with the weights of Robertson and Sparck Jones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longrank.index import Index
from longrank.retrieval.bm25 import BM25WithoutIdf
from longrank.retrieval.feedback.java import hash_of, table_size
from longrank.retrieval.feedback.terms import DIGITS, OTHERS, Bools, Int64s, heaviest, occurrences, ordered, spelling
from longrank.retrieval.searcher import Hits, Searcher, check
from longrank.types import Float32s

_LEAST = 1e-6  # weight of a term that is not more frequent in feedback documents


@dataclass(frozen=True, slots=True)
class BM25PRF:
    """Pseudo-relevance feedback by offer weights (Robertson 1990), as Anserini's BM25PrfReranker computes it.

    A term in n of N documents, and in r of the R feedback documents, has the relevance weight

        RW = ln((r + .5) (N - n - R + r + .5) / ((n - r + .5) (R - r + .5)))

    New terms have 2 to 20 characters [a-z0-9], not digits alone, and are in at least two feedback documents. The terms
    with the largest RW * ln(r) join the query; ties go to the first buckets of Java's map. Weights are RW, times
    `new_term_weight` for new terms, at least 1e-6; the number of occurrences in the query does not matter. RW contains
    the idf, so the second pass is BM25 without idf, with its own k1 and b.

    Attributes:
        fb_docs: feedback documents, >= 1.
        fb_terms: new terms, >= 1.
        new_term_weight: factor on their weights, >= 0.
        second_k1: k1 of the second pass.
        second_b: b of the second pass.
    """

    fb_docs: int = 10
    fb_terms: int = 20
    new_term_weight: float = 0.2
    second_k1: float = 0.9
    second_b: float = 0.4

    def __post_init__(self) -> None:
        """Refuse options out of range.

        Raises:
            InputError: names the option.
        """
        check("fb_docs", self.fb_docs, self.fb_docs >= 1, "at least 1")
        check("fb_terms", self.fb_terms, self.fb_terms >= 1, "at least 1")
        weight, k1, b = self.new_term_weight, self.second_k1, self.second_b
        check("new_term_weight", weight, 0 <= weight < float("inf"), "a finite number from 0")
        check("second_k1", k1, 0 <= k1 <= 1e6, "between 0 and 1e6")
        check("second_b", b, 0 <= b <= 1, "between 0 and 1")

    @property
    def first_pass(self) -> int:
        """Number of documents of the first pass to read."""
        return self.fb_docs

    def expand(self, query: Mapping[str, float], hits: Hits, index: Index) -> dict[str, float]:
        """Return the new query: the query terms in the index, and new terms. See `Feedback`."""
        terms, rs = np.unique(occurrences(index, hits.numbers).terms, return_counts=True)
        known = {number: term for term in query if (number := index.term_number(term)) is not None}
        old = np.array(list(known), np.int64)
        new = np.flatnonzero((rs > 1) & ~np.isin(terms, old))
        new = new[_can_be_new(index, terms[new])]
        offered, offered_rs, n_feedback = terms[new], rs[new], len(hits.numbers)
        weights = _relevance(index, old, _rs_of(old, terms, rs), n_feedback, 1.0)
        gains = _relevance(index, offered, offered_rs, n_feedback, self.new_term_weight)
        best = self._best((gains * np.log(offered_rs)).astype(np.float32), offered, index)
        words = [*known.values(), *index.terms_at(offered[best])]
        return ordered(dict(zip(words, np.r_[weights, gains[best]].astype(np.float32).tolist(), strict=True)))

    def second_pass(self, searcher: Searcher) -> Searcher:
        """Return BM25 with its own parameters and without idf."""
        return BM25WithoutIdf(
            searcher.index,
            k1=self.second_k1,
            b=self.second_b,
            doc_lengths=searcher.doc_lengths,
            ties=searcher.ties,
            notes=searcher.notes,
        )

    def _best(self, offers: Float32s, terms: Int64s, index: Index) -> Int64s:
        """Return the places of the `fb_terms` largest offers of terms."""
        best = heaviest(offers, self.fb_terms)
        if len(best) == len(offers):
            return best
        surer, tied = np.flatnonzero(offers > offers[best[-1]]), np.flatnonzero(offers == offers[best[-1]])
        buckets = [hash_of(term) % table_size(len(offers)) for term in index.terms_at(terms[tied])]
        met = tied[np.argsort(buckets, kind="stable")]
        return np.concatenate((surer, met[: self.fb_terms - len(surer)]))


def _rs_of(numbers: Int64s, terms: Int64s, rs: Int64s) -> Int64s:
    """Return the `rs` of the terms `numbers`, 0 for numbers that are not among `terms`."""
    places = np.minimum(np.searchsorted(terms, numbers), len(terms) - 1)
    return np.where(terms[places] == numbers, rs[places], 0)


def _can_be_new(index: Index, terms: Int64s) -> Bools:
    written = spelling(index, terms)
    possible: Bools = written.usual & (written.kinds < OTHERS) & (written.kinds != DIGITS)
    return possible


def _relevance(index: Index, terms: Int64s, rs: Int64s, n_feedback: int, factor: float) -> NDArray[np.float64]:
    """Return max(RW * factor, 1e-6) for each term; `factor` in single precision."""
    ns = index.dfs(terms)
    odds = (rs + 0.5) * (index.n_nonempty - ns - n_feedback + rs + 0.5) / ((ns - rs + 0.5) * (n_feedback - rs + 0.5))
    return np.maximum(np.log(odds) * float(np.float32(factor)), _LEAST)
