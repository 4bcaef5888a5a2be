"""A first stage with feedback: search, expand the query from the best documents, search again."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Self

import numpy as np
from numpy.typing import NDArray

from longrank.retrieval.feedback import Feedback
from longrank.retrieval.searcher import ExpandedQuery, Hits, Searcher
from longrank.types import Notes, Query, Ranking, ScoredDoc


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

    def expand(self, query: Query) -> ExpandedQuery:
        """Return the expanded query, or the original query, which is counted, if there is no expansion."""
        return self._expanded([query])[0]

    def _expanded(self, queries: Sequence[Query]) -> list[ExpandedQuery]:
        notes = [Notes() for _ in queries]  # merged query by query, so that their order is the same for any block
        terms = [self.searcher.noting(own).query_terms(query) for own, query in zip(notes, queries, strict=True)]
        found = self.searcher.search_all(terms, self.feedback.first_pass)
        return list(map(self._expansion, queries, notes, terms, found))

    def _expansion(self, query: Query, notes: Notes, terms: dict[str, float], hits: Hits) -> ExpandedQuery:
        self.searcher.notes.merge(notes)
        expanded = self.feedback.expand(terms, hits, self.searcher.index) if len(hits.numbers) else {}
        if not expanded and terms:
            self.searcher.notes.add("queries not expanded, since feedback found no terms", query.query_id)
        if expanded:
            return ExpandedQuery(self.searcher.heaviest(expanded, query.query_id), expanded=True)
        return ExpandedQuery(terms, expanded=False)

    def retrieve(self, query: Query, k: int) -> list[ScoredDoc]:
        """Return at most `k` documents, best first; raises as `Searcher.search`."""
        return self.retrieve_block([query], k)[0].rows()

    def retrieve_block(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Return the documents of each query, as `retrieve`."""
        expanded = self._expanded(queries)
        found = iter(self._second_pass([query.terms for query in expanded if query.expanded], self._second, k))
        others = iter(self._second_pass([query.terms for query in expanded if not query.expanded], self.searcher, k))
        hits = [next(found if query.expanded else others) for query in expanded]
        return self.searcher.rankings(queries, hits)

    def _second_pass(self, queries: Sequence[dict[str, float]], searcher: Searcher, k: int) -> list[Hits]:
        return (searcher if self._mask is None else searcher.within(self._mask)).search_all(queries, k)
