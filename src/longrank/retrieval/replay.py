"""A run as a first stage: its rankings stay as they are."""

from __future__ import annotations

from longrank.types import Query, Run, ScoredDoc


class Replay:
    """Returns the candidates of a run."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def retrieve(self, query: Query, k: int) -> list[ScoredDoc]:
        """Return the first `k` documents of the query's ranking; none if the run lacks the query."""
        return list(self.run.get(query.query_id)[:k])
