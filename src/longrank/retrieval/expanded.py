"""A first stage with feedback: search, expand the query from the best documents, search again."""

from __future__ import annotations

from copy import copy
from typing import Self

import numpy as np
from numpy.typing import NDArray

from longrank.retrieval.feedback import Feedback
from longrank.retrieval.searcher import ExpandedQuery, Searcher
from longrank.types import Notes, Query, ScoredDoc


class WithFeedback:
    """Searches, expands the query by a feedback model, and searches again."""

    def __init__(self, searcher: Searcher, feedback: Feedback) -> None:
        self.searcher, self.feedback = searcher, feedback
        self._second = feedback.second_pass(searcher)
        self._mask: NDArray[np.bool_] | None = None

    def within(self, mask: NDArray[np.bool_]) -> Self:
        """Return the same first stage among the documents of a mask, bool[D]; feedback reads all documents."""
        retriever = copy(self)
        retriever._mask = mask
        return retriever

    def noting(self, notes: Notes) -> Self:
        """Return the same first stage with other notes."""
        retriever = copy(self)
        retriever.searcher = self.searcher.noting(notes)
        return retriever

    @property
    def notes(self) -> Notes:
        """Notes of the searcher."""
        return self.searcher.notes

    @property
    def parallel(self) -> bool:
        """True if several threads are faster than one."""
        return self.searcher.parallel

    def expand(self, query: Query) -> ExpandedQuery:
        """Return the expanded query, or the original query, which is counted, if there is no expansion."""
        terms = self.searcher.query_terms(query)
        hits = self.searcher.search(terms, self.feedback.first_pass)
        expanded = self.feedback.expand(terms, hits, self.searcher.index) if len(hits.numbers) else {}
        if not expanded and terms:
            self.searcher.notes.add("queries not expanded, since feedback found no terms", query.query_id)
        if expanded:
            return ExpandedQuery(self.searcher.heaviest(expanded, query.query_id), expanded=True)
        return ExpandedQuery(terms, expanded=False)

    def retrieve(self, query: Query, k: int) -> list[ScoredDoc]:
        """Return at most `k` documents, best first; raises as `Searcher.search`."""
        terms, expanded = self.expand(query)
        searcher = self._second if expanded else self.searcher
        if self._mask is not None:
            searcher = searcher.within(self._mask)
        return searcher.rows(query, searcher.search(terms, k))
