from __future__ import annotations

from longrank.retrieval import Replay
from longrank.types import Query, Run, ScoredDoc


def test_a_replayed_run_gives_its_first_k() -> None:
    run = Run("tag", [ScoredDoc("q", "a", 1.0), ScoredDoc("q", "b", 2.0), ScoredDoc("q", "c", 2.0)])
    replay = Replay(run)
    assert [row.doc_id for row in replay.retrieve(Query("q", ""), 2)] == ["c", "b"]
    assert replay.retrieve(Query("other", ""), 2) == []
