"""Query expansion from the best documents of a first pass (pseudo-relevance feedback).

An entry of `FEEDBACKS` is a frozen dataclass: its fields are the options, with Anserini's defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from longrank.index import Index
from longrank.retrieval.feedback.axiomatic import Axiomatic
from longrank.retrieval.feedback.bm25prf import BM25PRF
from longrank.retrieval.feedback.rm3 import RM3
from longrank.retrieval.feedback.rocchio import Rocchio
from longrank.retrieval.searcher import Hits, Searcher


class Feedback(Protocol):
    """Expands a query by the first pass: a pure function of the query, the first pass and the index."""

    @property
    def first_pass(self) -> int:
        """Number of documents of the first pass to read."""
        ...

    def expand(self, query: Mapping[str, float], hits: Hits, index: Index) -> dict[str, float]:
        """Return the terms of the new query with positive weights; empty if there is no expansion.

        Args:
            query: analysed term of the query -> number of occurrences.
            hits: the first pass, best first, at most `first_pass`, at least one.
            index: the searched index.
        """
        ...

    def second_pass(self, searcher: Searcher) -> Searcher:
        """Return the searcher for the new query: the first pass's searcher, or the model's own."""
        ...


FEEDBACKS: dict[str, type[Feedback]] = {"rm3": RM3, "bm25prf": BM25PRF, "axiomatic": Axiomatic, "rocchio": Rocchio}
"""Feedback models by name."""

__all__ = ["BM25PRF", "FEEDBACKS", "RM3", "Axiomatic", "Feedback", "Rocchio"]
