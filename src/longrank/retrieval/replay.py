"""A run file as a first stage: whatever found the documents, their ranking is taken as it is."""

from __future__ import annotations

from longrank.types import Query, Run, ScoredDoc


class Replay:
    """The candidates of a run."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def retrieve(self, query: Query, k: int) -> list[ScoredDoc]:
        """Return the first `k` documents of the query's ranking; none if the run does not have it."""
        return list(self.run.get(query.query_id)[:k])
