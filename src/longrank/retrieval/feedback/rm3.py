"""RM3: the query interpolated with a relevance model of its best documents (Abdul-Jaleel et al., TREC 2004)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from longrank.index import Index
from longrank.retrieval.feedback.terms import (
    OTHERS,
    added,
    heaviest,
    most_frequent,
    occurrences,
    ordered,
    rare,
    spelling,
)
from longrank.retrieval.searcher import Hits, Searcher, check


@dataclass(frozen=True, slots=True)
class RM3:
    """Relevance model as Anserini's Rm3Reranker estimates it.

    Feedback terms have 2 to 20 characters [a-z0-9] and are in at most a tenth of the documents. p(t|d) is the share of
    t among the `fb_terms` most frequent feedback terms of d. The relevance model p(t|R) has the `fb_terms` largest
    sums of p(t|d) * score(d), scaled to sum to 1. The new query is

        original_query_weight * share of t in the query + (1 - original_query_weight) * p(t|R)

    Attributes:
        fb_docs: feedback documents, >= 1.
        fb_terms: terms of each feedback document and of the relevance model, >= 1.
        original_query_weight: 0 (relevance model alone) to 1 (query alone).
    """

    fb_docs: int = 10
    fb_terms: int = 10
    original_query_weight: float = 0.5

    def __post_init__(self) -> None:
        """Refuse options out of range.

        Raises:
            InputError: names the option.
        """
        check("fb_docs", self.fb_docs, self.fb_docs >= 1, "at least 1")
        check("fb_terms", self.fb_terms, self.fb_terms >= 1, "at least 1")
        weight = self.original_query_weight
        check("original_query_weight", weight, 0 <= weight <= 1, "between 0 and 1")

    @property
    def first_pass(self) -> int:
        """Number of documents of the first pass to read."""
        return self.fb_docs

    def expand(self, query: Mapping[str, float], hits: Hits, index: Index) -> dict[str, float]:
        """Return the new query; empty if no document has a feedback term. See `Feedback`."""
        model = self._relevance_model(hits, index)
        if not model:
            return {}
        total = sum(query.values())
        alpha = np.float32(self.original_query_weight)
        mixed = {term: float(alpha * np.float32(count / total)) for term, count in query.items()}
        for term, weight in model.items():
            mixed[term] = mixed.get(term, 0.0) + (1 - float(alpha)) * weight
        return ordered({term: float(np.float32(weight)) for term, weight in mixed.items()})

    def second_pass(self, searcher: Searcher) -> Searcher:
        """Return the searcher of the first pass."""
        return searcher

    def _relevance_model(self, hits: Hits, index: Index) -> dict[str, float]:
        occurring = occurrences(index, hits.numbers)
        occurring = occurring.only(rare(index, occurring.terms))
        written = spelling(index, occurring.terms)
        occurring = most_frequent(occurring.only(written.usual & (written.kinds < OTHERS)), self.fb_terms)
        sizes = np.bincount(occurring.docs, occurring.tfs, len(hits.numbers)).astype(np.float32)
        shares = occurring.tfs.astype(np.float32) / sizes[occurring.docs] * hits.scores[occurring.docs]
        terms, weights = added(occurring.terms, shares)
        best = heaviest(weights, self.fb_terms)
        total = weights[best].sum(dtype=np.float64)
        if not total > 0:  # query likelihood may score all documents 0
            return {}
        return dict(zip(index.terms_at(terms[best]), (weights[best] / total).astype(np.float32).tolist(), strict=True))
