"""Axiomatic semantic matching: terms that share information with the query's (Fang and Zhai, SIGIR 2006)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longrank.index import Index
from longrank.retrieval.feedback.pool import Pool, pool_documents
from longrank.retrieval.feedback.terms import heaviest, ordered
from longrank.retrieval.searcher import Hits, Searcher, check

_MOST = 1000  # terms per query term: Anserini's K
_LEAST = 1e-8  # a smaller similarity counts as 0


@dataclass(frozen=True, slots=True)
class Axiomatic:
    """Axiomatic semantic matching as Anserini's AxiomReranker computes it, in its deterministic mode.

    The pool has the first `fb_docs` documents and random documents, fb_docs * pool_factor together, or all documents
    of a smaller index. Its terms of at least two characters [a-z] are compared with the query terms by the mutual
    information I of occurring in a document. With N documents, df documents with q, and tf occurrences of q in the
    query,

        s(q, q) = idf(q) * tf        idf(q) = ln floor((N + 1) / df)
        s(q, t) = idf(q) * tf * beta * I(q, t) / I(q, q)

    Each q adds the better half of the terms, at most 1000. The new query has the `fb_terms` largest sums over q, at
    most the better half, divided by the length of the query. It loses a query term that is not in the pool, has other
    characters, is in more than half of the documents (idf is 0 then), or is not among the largest.

    Attributes:
        fb_docs: documents of the first pass in the pool, >= 1; R in Anserini.
        pool_factor: size of the pool divided by `fb_docs`, >= 1; N in Anserini.
        fb_terms: terms of the new query, >= 1; M in Anserini.
        beta: weight of new terms, >= 0.
        seed: seed of the random documents, >= 0; all queries have the same random documents.
    """

    fb_docs: int = 20
    pool_factor: int = 30
    fb_terms: int = 20
    beta: float = 0.4
    seed: int = 42

    def __post_init__(self) -> None:
        """Refuse options out of range.

        Raises:
            InputError: names the option.
        """
        for name in ("fb_docs", "pool_factor", "fb_terms"):
            check(name, getattr(self, name), getattr(self, name) >= 1, "at least 1")
        check("beta", self.beta, 0 <= self.beta < float("inf"), "a finite number from 0")
        check("seed", self.seed, self.seed >= 0, "at least 0")

    @property
    def first_pass(self) -> int:
        """Number of documents of the first pass to read."""
        return self.fb_docs

    def expand(self, query: Mapping[str, float], hits: Hits, index: Index) -> dict[str, float]:
        """Return the new query; empty if no query term is in the pool. See `Feedback`."""
        pool = Pool.of(index, pool_documents(index, hits.numbers, self.fb_docs * self.pool_factor, self.seed))
        sums = np.zeros(len(pool.terms))
        for term, tf in query.items():
            number = index.term_number(term)
            if number is not None and (place := pool.place(number)) is not None:
                idf = np.float32(math.log((1 + index.n_nonempty) // index.df(term)))
                self._add(pool, place, idf, np.float32(tf), sums)
        similar = np.flatnonzero(sums)
        means = sums[similar] / sum(query.values())
        best = heaviest(means, min(_half(len(similar)), self.fb_terms))
        words = index.terms_at(pool.terms[similar[best]])
        return ordered(dict(zip(words, means[best].astype(np.float32).tolist(), strict=True)))

    def second_pass(self, searcher: Searcher) -> Searcher:
        """Return the searcher of the first pass."""
        return searcher

    def _add(self, pool: Pool, place: int, idf: np.float32, tf: np.float32, sums: NDArray[np.float64]) -> None:
        """Add the similarities of the pool's terms to the term at `place`."""
        shared = pool.information(place)
        similar = float(idf * np.float32(self.beta) * tf) * shared / shared[place] if shared[place] else shared
        similar[place] = float(idf * tf)
        kept = heaviest(similar, min(_half(len(similar)), max(self.fb_terms, _MOST)))
        kept = kept[similar[kept] > _LEAST]
        sums[kept] += similar[kept]


def _half(n: int) -> int:
    """Return the number of n items that Anserini takes: its loop counts up while its queue gets shorter."""
    return (n + 1) // 2
