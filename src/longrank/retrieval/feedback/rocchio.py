"""Rocchio's feedback: the query moved towards the mean of its best documents (Rocchio 1971)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from longrank.index import Index
from longrank.retrieval.feedback.terms import added, heaviest, occurrences, ordered, rare, spelling
from longrank.retrieval.searcher import Hits, Searcher, check
from longrank.types import Notes

_DEPTH = 50  # documents of the first pass, of which the last count as non-relevant: Anserini's rerankCutoff

FACTORS = {"negative_docs": "gamma", "negative_terms": "gamma"}
"""Settings without effect while another setting is 0."""


@dataclass(frozen=True, slots=True)
class Rocchio:
    """Rocchio's feedback as Anserini's RocchioReranker computes it.

    A document is the vector of its tfs over terms of 2 to 20 characters in at most a tenth of the documents. Vectors
    and query have Euclidean length 1, as has a mean of vectors, cut to its largest terms. The new query has the
    positive weights of

        alpha * query + beta * mean of the first fb_docs - gamma * mean of the last negative_docs of 50

    Attributes:
        fb_docs: relevant documents, >= 1.
        fb_terms: terms of the mean of the relevant documents, >= 1.
        alpha: weight of the query, >= 0.
        beta: weight of the relevant documents, >= 0.
        gamma: weight of the non-relevant documents, >= 0; Anserini's is .15 if it uses them.
        negative_docs: non-relevant documents, >= 1.
        negative_terms: terms of the mean of the non-relevant documents, >= 1.
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
            InputError: names the option.
        """
        for name in ("fb_docs", "fb_terms", "negative_docs", "negative_terms"):
            check(name, getattr(self, name), getattr(self, name) >= 1, "at least 1")
        for name in ("alpha", "beta", "gamma"):
            check(name, getattr(self, name), 0 <= getattr(self, name) < float("inf"), "a finite number from 0")

    def note_unused(self, notes: Notes) -> None:
        """Note settings of the non-relevant documents if these have no weight."""
        for field in fields(self):
            factor = FACTORS.get(field.name)
            if factor and not getattr(self, factor) and getattr(self, field.name) != field.default:
                notes.say(f"{field.name} has no effect while {factor} is 0")

    @property
    def first_pass(self) -> int:
        """Number of documents of the first pass to read."""
        return max(self.fb_docs, self.negative_docs, _DEPTH) if self.gamma else self.fb_docs

    def expand(self, query: Mapping[str, float], hits: Hits, index: Index) -> dict[str, float]:
        """Return the new query; empty if no document has a feedback term. See `Feedback`."""
        relevant = _mean(hits.numbers[: self.fb_docs], self.fb_terms, index)
        if not relevant:
            return {}
        negative = _mean(hits.numbers[::-1][: self.negative_docs], self.negative_terms, index) if self.gamma else {}
        length = np.sqrt(sum(count * count for count in query.values()))
        old = {term: np.float32(count / length) for term, count in query.items()}
        alpha, beta, gamma, zero = map(np.float32, (self.alpha, self.beta, self.gamma, 0))

        def weight(term: str) -> float:
            towards = alpha * old.get(term, zero) + beta * relevant.get(term, zero)
            return float(towards - gamma * negative.get(term, zero))

        return ordered({term: weight(term) for term in old | relevant})

    def second_pass(self, searcher: Searcher) -> Searcher:
        """Return the searcher of the first pass."""
        return searcher


def _mean(numbers: NDArray[np.int64], n_terms: int, index: Index) -> dict[str, np.float32]:
    """Return the `n_terms` largest weights of the mean of document vectors, scaled to length 1."""
    occurring = occurrences(index, numbers)
    occurring = occurring.only(rare(index, occurring.terms))
    occurring = occurring.only(spelling(index, occurring.terms).usual)
    lengths = np.sqrt(np.bincount(occurring.docs, occurring.tfs**2, len(numbers))).astype(np.float32)
    terms, sums = added(occurring.terms, occurring.tfs.astype(np.float32) / lengths[occurring.docs])
    means = sums / np.float32(len(numbers))
    best = heaviest(means, n_terms)
    length = np.sqrt((means[best].astype(np.float64) ** 2).sum())
    return dict(zip(index.terms_at(terms[best]), (means[best] / length).astype(np.float32), strict=True))
