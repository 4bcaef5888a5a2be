"""Query likelihood with Dirichlet smoothing (Zhai and Lafferty 2001), as in Lucene's LMDirichletSimilarity."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from longrank.index import Index
from longrank.index.accumulate import add_dirichlet
from longrank.index.similarity import LENGTHS, collection_probabilities, dirichlet_offsets
from longrank.retrieval.searcher import QueryTerms, Searcher, WeightedTerms, check
from longrank.retrieval.windowed import LikelihoodWindows
from longrank.types import Notes


class QueryLikelihood(Searcher):
    """Ranks by query likelihood with Dirichlet smoothing.

    The score is the sum of ``max(0, w * (ln(1 + tf / (mu * p(t))) + ln(mu / (dl + mu))))`` over the query terms.

    Attributes:
        mu: strength of the smoothing with the collection, 1e-6 to 1e12.
    """

    def __init__(
        self,
        index: Index,
        *,
        mu: float = 1000.0,
        doc_lengths: str = "lucene",
        ties: str = "doc_id",
        notes: Notes | None = None,
    ) -> None:
        """Prepare for searching; `doc_lengths`, `ties` and `notes` as in `Searcher`.

        Raises:
            InputError: a parameter out of range.
        """
        check("mu", mu, 1e-6 <= mu <= 1e12, "between 1e-6 and 1e12")
        super().__init__(index, doc_lengths=doc_lengths, ties=ties, notes=notes)
        self.mu = mu
        self._offsets = dirichlet_offsets(self.lengths, mu)

    @cached_property
    def _windows(self) -> LikelihoodWindows:
        return LikelihoodWindows(self._slots, self._classes, self._offsets, dirichlet_offsets(LENGTHS, self.mu))

    def _packed_weights(self, query: WeightedTerms) -> NDArray[np.floating]:
        return np.stack([query.weights, self._rarity(query.found.counts)], axis=1)

    def _rarity(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return 1 / (mu * p(t)) of terms with these counts."""
        return 1 / (self.mu * collection_probabilities(counts, self.index.total_terms))

    def _add(self, terms: QueryTerms, sums: NDArray[np.float64]) -> None:
        rarity = self._rarity(terms.counts)
        add_dirichlet(
            terms.docs,
            terms.tfs,
            terms.starts,
            terms.stops,
            terms.weights,
            rarity,
            terms.classes,
            self._offsets,
            sums,
        )
