"""BM25 as Lucene computes it; k1 and b are options of search."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from longrank.index import Index
from longrank.index.accumulate import add_bm25
from longrank.index.similarity import LENGTHS, idfs, inverse_norms
from longrank.retrieval.searcher import QueryTerms, Searcher, check
from longrank.retrieval.windowed import Bm25Windows
from longrank.types import Notes


class BM25(Searcher):
    """Ranks by BM25.

    Attributes:
        k1: saturation of term frequency, 0 to 1e6; 0: each term of a document counts once.
        b: weight of document length, 0 (none) to 1.
        idf: rare terms weigh more; false: query weights only.
    """

    idf = True

    def __init__(
        self,
        index: Index,
        *,
        k1: float = 0.9,
        b: float = 0.4,
        doc_lengths: str = "lucene",
        ties: str = "doc_id",
        notes: Notes | None = None,
    ) -> None:
        """Prepare for searching; `doc_lengths`, `ties` and `notes` as in `Searcher`.

        Raises:
            InputError: a parameter out of range.
        """
        check("k1", k1, 0 <= k1 <= 1e6, "between 0 and 1e6")
        check("b", b, 0 <= b <= 1, "between 0 and 1")
        super().__init__(index, doc_lengths=doc_lengths, ties=ties, notes=notes)
        self.k1, self.b = k1, b
        self._norms = inverse_norms(self.lengths, index.avgdl or 1.0, k1, b)

    @cached_property
    def _windows(self) -> Bm25Windows:
        code_norms = inverse_norms(LENGTHS, self.index.avgdl or 1.0, self.k1, self.b)
        most_tf = max(int(np.iinfo(part.meta["tf_type"]).max) for part in self.index.parts)
        return Bm25Windows(self._slots, self._classes, self._norms, code_norms, most_tf)

    def _weights(self, weights: NDArray[np.float64], dfs: NDArray[np.int64]) -> NDArray[np.floating]:
        rounded = weights.astype(np.float32)
        return rounded * idfs(dfs, self.index.n_nonempty) if self.idf else rounded

    def _add(self, terms: QueryTerms, sums: NDArray[np.float64]) -> None:
        add_bm25(terms.docs, terms.tfs, terms.starts, terms.stops, terms.weights, terms.classes, self._norms, sums)


class BM25WithoutIdf(BM25):
    """Ranks by BM25 without idf."""

    idf = False
