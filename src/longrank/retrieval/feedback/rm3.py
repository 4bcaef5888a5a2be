"""RM3: the query mixed with a relevance model of its best documents (Abdul-Jaleel et al., TREC 2004)."""

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

    Terms of 2 to 20 characters [a-z0-9] in at most a tenth of the documents can be learned. A document
    is its `fb_terms` most frequent ones, p(t|d) their shares in it; the relevance model is the
    `fb_terms` largest sums of p(t|d) * score(d), scaled to sum to 1; the new query is

        original_query_weight * share of t in the query + (1 - original_query_weight) * p(t|R)

    Attributes:
        fb_docs: feedback documents, >= 1.
        fb_terms: terms of a feedback document, and of the relevance model, >= 1.
        original_query_weight: 0 (relevance model alone) to 1 (query alone).
    """

    fb_docs: int = 10
    fb_terms: int = 10
    original_query_weight: float = 0.5

    def __post_init__(self) -> None:
        """Refuse options out of range.

        Raises:
            InputError: says which.
        """
        check("fb_docs", self.fb_docs, self.fb_docs >= 1, "at least 1")
        check("fb_terms", self.fb_terms, self.fb_terms >= 1, "at least 1")
        weight = self.original_query_weight
        check("original_query_weight", weight, 0 <= weight <= 1, "between 0 and 1")

    @property
    def first_pass(self) -> int:
        """How many documents of the first pass it looks at."""
        return self.fb_docs

    def expand(self, query: Mapping[str, float], hits: Hits, index: Index) -> dict[str, float]:
        """Return the new query; empty if no document holds a term that can be learned. See `Feedback`."""
        model = self._relevance_model(hits, index)
        if not model:
            return {}
        total = sum(query.values())
        own, learned = np.float32(self.original_query_weight), 1 - float(np.float32(self.original_query_weight))
        mixed = {term: float(own * np.float32(count / total)) for term, count in query.items()}
        for term, weight in model.items():
            mixed[term] = mixed.get(term, 0.0) + learned * weight
        return ordered({term: float(np.float32(weight)) for term, weight in mixed.items()})

    def second_pass(self, searcher: Searcher) -> Searcher:
        """Return the searcher of the first pass."""
        return searcher

    def _relevance_model(self, hits: Hits, index: Index) -> dict[str, float]:
        found = occurrences(index, hits.numbers)
        found = found.only(rare(index, found.terms))
        written = spelling(index, found.terms)
        found = most_frequent(found.only(written.usual & (written.kinds < OTHERS)), self.fb_terms)
        sizes = np.bincount(found.docs, found.tfs, len(hits.numbers)).astype(np.float32)
        shares = found.tfs.astype(np.float32) / sizes[found.docs] * hits.scores[found.docs]
        terms, weights = added(found.terms, shares)
        best = heaviest(weights, self.fb_terms)
        total = weights[best].sum(dtype=np.float64)
        if not total > 0:  # query likelihood may score all documents 0
            return {}
        return dict(zip(index.terms_at(terms[best]), (weights[best] / total).astype(np.float32).tolist(), strict=True))
