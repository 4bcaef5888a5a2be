"""Rocchio's feedback: the query moved towards the mean of its best documents (Rocchio 1971)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longrank.index import Index
from longrank.retrieval.feedback.terms import added, heaviest, occurrences, ordered, rare, spelling
from longrank.retrieval.searcher import Hits, Searcher, check

_DEPTH = 50  # of the first pass whose end counts as non-relevant: Anserini's rerankCutoff


@dataclass(frozen=True, slots=True)
class Rocchio:
    """Rocchio's feedback as Anserini's RocchioReranker computes it.

    A document is the vector of its tfs over terms of 2 to 20 characters in at most a tenth of the
    documents; vectors and the query have Euclidean length 1, and so has a mean of vectors, cut to its
    largest terms. The new query is what is positive of

        alpha * query + beta * mean of the first fb_docs - gamma * mean of the last negative_docs of 50

    Attributes:
        fb_docs: documents that count as relevant, >= 1.
        fb_terms: terms of their mean, >= 1.
        alpha: weight of the query, >= 0.
        beta: weight of the relevant documents, >= 0.
        gamma: weight of the non-relevant documents, >= 0; Anserini's is .15 where they are used at all.
        negative_docs: documents that count as non-relevant, >= 1.
        negative_terms: terms of their mean, >= 1.
    """

    fb_docs: int = 10
    fb_terms: int = 10
    alpha: float = 1.0
    beta: float = 0.75
    gamma: float = 0.0
    negative_docs: int = 10
    negative_terms: int = 10

    def __post_init__(self) -> None:
        """Refuse options out of range.

        Raises:
            InputError: says which.
        """
        for name in ("fb_docs", "fb_terms", "negative_docs", "negative_terms"):
            check(name, getattr(self, name), getattr(self, name) >= 1, "at least 1")
        for name in ("alpha", "beta", "gamma"):
            check(name, getattr(self, name), 0 <= getattr(self, name) < float("inf"), "a finite number from 0")

    @property
    def first_pass(self) -> int:
        """How many documents of the first pass it looks at."""
        return max(self.fb_docs, self.negative_docs, _DEPTH) if self.gamma else self.fb_docs

    def expand(self, query: Mapping[str, float], hits: Hits, index: Index) -> dict[str, float]:
        """Return the new query; empty if no document holds a term that can be learned. See `Feedback`."""
        relevant = _mean(hits.numbers[: self.fb_docs], self.fb_terms, index)
        if not relevant:
            return {}
        others = _mean(hits.numbers[::-1][: self.negative_docs], self.negative_terms, index) if self.gamma else {}
        length = np.sqrt(sum(count * count for count in query.values()))
        own = {term: np.float32(count / length) for term, count in query.items()}
        alpha, beta, gamma, none = map(np.float32, (self.alpha, self.beta, self.gamma, 0))
        return ordered(
            {
                term: float(
                    alpha * own.get(term, none) + beta * relevant.get(term, none) - gamma * others.get(term, none)
                )
                for term in own | relevant
            }
        )

    def second_pass(self, searcher: Searcher) -> Searcher:
        """Return the searcher of the first pass."""
        return searcher


def _mean(numbers: NDArray[np.int64], n_terms: int, index: Index) -> dict[str, np.float32]:
    """Return the `n_terms` largest weights of the mean of document vectors, scaled to length 1."""
    found = occurrences(index, numbers)
    found = found.only(rare(index, found.terms))
    found = found.only(spelling(index, found.terms).usual)
    lengths = np.sqrt(np.bincount(found.docs, found.tfs**2, len(numbers))).astype(np.float32)
    terms, sums = added(found.terms, found.tfs.astype(np.float32) / lengths[found.docs])
    means = sums / np.float32(len(numbers))
    best = heaviest(means, n_terms)
    length = np.sqrt((means[best].astype(np.float64) ** 2).sum())
    return dict(zip(index.terms_at(terms[best]), (means[best] / length).astype(np.float32), strict=True))
