"""BM25PRF: terms that feedback documents have in common, with the weights of Robertson and Sparck Jones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.index import Index
from longrank.retrieval.bm25 import BM25
from longrank.retrieval.feedback.java import hash_of, table_size
from longrank.retrieval.feedback.terms import DIGITS, OTHERS, Bools, Int64s, heaviest, occurrences, ordered, spelling
from longrank.retrieval.searcher import Hits, Searcher, check
from longrank.types import Float32s

_LEAST = 1e-6  # weight of a term that feedback documents hold no more often than others


@dataclass(frozen=True, slots=True)
class BM25PRF:
    """Pseudo-relevance feedback by offer weights (Robertson 1990), as Anserini's BM25PrfReranker computes it.

    With N documents, n of them and r of the R feedback documents holding a term, its relevance weight is

        RW = ln((r + .5) (N - n - R + r + .5) / ((n - r + .5) (R - r + .5)))

    Terms of 2 to 20 characters [a-z0-9], not all digits, in at least two feedback documents are offered;
    those with the largest RW * ln(r) join the query, of equal ones those that Java's hash maps put first.
    Weights are RW, `new_term_weight` times that for new terms, at least 1e-6; how often a word occurs in
    the query does not matter. As RW contains the idf, the second pass is BM25 without idf; its k1 and b
    are its own.

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
            InputError: says which.
        """
        check("fb_docs", self.fb_docs, self.fb_docs >= 1, "at least 1")
        check("fb_terms", self.fb_terms, self.fb_terms >= 1, "at least 1")
        weight, k1, b = self.new_term_weight, self.second_k1, self.second_b
        check("new_term_weight", weight, 0 <= weight < float("inf"), "a finite number from 0")
        check("second_k1", k1, 0 <= k1 < float("inf"), "a finite number from 0")
        check("second_b", b, 0 <= b <= 1, "between 0 and 1")

    @property
    def first_pass(self) -> int:
        """How many documents of the first pass it looks at."""
        return self.fb_docs

    def expand(self, query: Mapping[str, float], hits: Hits, index: Index) -> dict[str, float]:
        """Return the new query: the known terms of the old one, and new terms. See `Feedback`."""
        seen, n_feedback = _seen(index, hits), len(hits.numbers)
        old = {number: term for term in query if (number := index.term_number(term)) is not None}
        numbers = np.array(list(old), np.int64)
        weights = _relevance(index, numbers, seen.rs_of(numbers), n_feedback, 1.0)
        new = seen.only((seen.rs > 1) & ~np.isin(seen.terms, numbers))
        new = new.only(_can_be_new(index, new.terms))
        gains = _relevance(index, new.terms, new.rs, n_feedback, self.new_term_weight)
        best = self._best((gains * np.log(new.rs)).astype(np.float32), new, seen, index)
        words = [*old.values(), *index.terms_at(new.terms[best])]
        return ordered(dict(zip(words, np.r_[weights, gains[best]].astype(np.float32).tolist(), strict=True)))

    def second_pass(self, searcher: Searcher) -> Searcher:
        """Return BM25 with its own parameters and without idf."""
        return BM25(
            searcher.index,
            self.second_k1,
            self.second_b,
            idf=False,
            doc_lengths=searcher.doc_lengths,
            ties=searcher.ties,
            notes=searcher.notes,
        )

    def _best(self, offers: Float32s, new: _Seen, seen: _Seen, index: Index) -> Int64s:
        """Return the places of the `fb_terms` largest offers."""
        best = heaviest(offers, self.fb_terms)
        if len(best) == len(offers):
            return best
        surer, tied = np.flatnonzero(offers > offers[best[-1]]), np.flatnonzero(offers == offers[best[-1]])
        met = _as_anserini_meets_them(new.only(tied), index, (len(new.terms), len(seen.terms)))
        return np.concatenate((surer, tied[met[: self.fb_terms - len(surer)]]))


class _Seen(NamedTuple):
    """Terms of the feedback documents.

    Attributes:
        terms: int64[n], their numbers, ascending.
        rs: int64[n], how many feedback documents hold each.
        firsts: int64[n], the first of these.
        sizes: int64[n], how many distinct terms that one has.
    """

    terms: Int64s
    rs: Int64s
    firsts: Int64s
    sizes: Int64s

    def only(self, which: Bools | Int64s) -> _Seen:
        """Return those that a mask or their places select."""
        return _Seen(*(column[which] for column in self))

    def rs_of(self, numbers: Int64s) -> Int64s:
        """Return the `rs` of other terms, 0 for those that were not seen."""
        places = np.minimum(np.searchsorted(self.terms, numbers), len(self.terms) - 1)
        return np.where(self.terms[places] == numbers, self.rs[places], 0)


def _seen(index: Index, hits: Hits) -> _Seen:
    found = occurrences(index, hits.numbers)
    terms, places, rs = np.unique(found.terms, return_index=True, return_counts=True)
    firsts = found.docs[places]
    return _Seen(terms, rs, firsts, np.bincount(found.docs)[firsts])


def _can_be_new(index: Index, terms: Int64s) -> Bools:
    written = spelling(index, terms)
    possible: Bools = written.usual & (written.kinds < OTHERS) & (written.kinds != DIGITS)
    return possible


def _relevance(index: Index, terms: Int64s, rs: Int64s, n_feedback: int, factor: float) -> NDArray[np.float64]:
    """Return max(RW * factor, 1e-6) for each term; `factor` in single precision."""
    ns = index.dfs(terms)
    odds = (rs + 0.5) * (index.n_nonempty - ns - n_feedback + rs + 0.5) / ((ns - rs + 0.5) * (n_feedback - rs + 0.5))
    return np.maximum(np.log(odds) * float(np.float32(factor)), _LEAST)


def _as_anserini_meets_them(tied: _Seen, index: Index, n_keys: tuple[int, int]) -> list[int]:
    """Return the places of terms in the order of Anserini's maps.

    It reads a map of the terms that are offered, which was filled from a set of all terms, which was
    filled from the sorted terms of one document after another, each as a set of its own.
    """
    codes = [hash_of(term) for term in index.terms_at(tied.terms)]
    offered, all_terms = map(table_size, n_keys)
    keys = [
        (code % offered, code % all_terms, first, code % table_size(size), place)
        for place, (code, first, size) in enumerate(zip(codes, tied.firsts.tolist(), tied.sizes.tolist(), strict=True))
    ]
    return [key[-1] for key in sorted(keys)]
