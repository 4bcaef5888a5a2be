"""BM25 of a passage: the scorer that needs no network.

A passage is scored as if it were a document of the collection, in Lucene's form of BM25 (Robertson
and Zaragoza 2009, without the constant factor k1 + 1):

    score(q, p) = sum over terms t of  qtf * idf(t) * tf / (tf + k1 * (1 - b + b * |p| / avgdl))
    idf(t)      = ln(1 + (N - df + 0.5) / (df + 0.5))

N, df and avgdl are those of the whole documents; tf and |p|, the number of terms, are the passage's own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from longrank.errors import InputError
from longrank.index.similarity import idf
from longrank.protocols import PassageScores, ScoringTask
from longrank.text.analysis import Analyzer


class CollectionStatistics(Protocol):
    """What BM25 knows of a collection; an index offers it."""

    @property
    def n_nonempty(self) -> int:
        """Documents that hold a term, N."""
        ...

    @property
    def avgdl(self) -> float:
        """Mean number of terms of a document."""
        ...

    @property
    def analyzer(self) -> Analyzer:
        """How text becomes terms."""
        ...

    @property
    def digest(self) -> str:
        """Names the content of the collection."""
        ...

    def df(self, term: str) -> int:
        """Return how many documents hold `term`."""
        ...


class LexicalScorer:
    """BM25 of the passage with the statistics of the index; no torch.

    Args:
        statistics: usually an index.
        k1: how slowly repeated terms saturate, >= 0.
        b: how much long passages are held back, 0 (not at all) .. 1.

    Raises:
        InputError: `k1` or `b` out of range.
    """

    unit = "bm25"

    def __init__(self, statistics: CollectionStatistics, *, k1: float = 0.9, b: float = 0.4) -> None:
        if not 0 <= k1 < math.inf:
            raise InputError("k1 must be 0 or more", got=k1)
        if not 0 <= b <= 1:
            raise InputError("b must be between 0 and 1", got=b)
        self._statistics, self._k1, self._b = statistics, float(k1), float(b)

    @property
    def fingerprint(self) -> str:
        """Names the collection, k1 and b."""
        return f"lexical k1={self._k1} b={self._b} collection={self._statistics.digest}"

    def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
        """Return BM25 per passage, >= 0; nothing is ever cut. Passages met before are analysed once."""
        analysed: dict[str, Counter[str]] = {}
        return [self._score(task, analysed) for task in tasks]

    def _score(self, task: ScoringTask, analysed: dict[str, Counter[str]]) -> PassageScores:
        weights = self._query_weights(task.query.text)
        for text in task.texts:
            if text not in analysed:
                analysed[text] = Counter(self._statistics.analyzer(text))
        scores = [self._bm25(weights, analysed[text]) for text in task.texts]
        return PassageScores(np.array(scores, dtype=np.float32), np.zeros(len(scores), dtype=np.bool_))

    def _query_weights(self, text: str) -> dict[str, float]:
        n_docs = self._statistics.n_nonempty
        counts = Counter(self._statistics.analyzer(text))
        found = {term: self._statistics.df(term) for term in counts}
        return {term: count * float(idf(found[term], n_docs)) for term, count in counts.items() if found[term]}

    def _bm25(self, weights: dict[str, float], counts: Counter[str]) -> float:
        relative = counts.total() / self._statistics.avgdl if self._statistics.avgdl else 0.0
        saturation = self._k1 * (1 - self._b + self._b * relative)
        present = ((weight, counts[term]) for term, weight in weights.items() if term in counts)
        return math.fsum(weight * tf / (tf + saturation) for weight, tf in present)
