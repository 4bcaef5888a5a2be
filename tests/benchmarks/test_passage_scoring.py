"""The comparison of passage scorers compares what it says it compares."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

pytestmark = pytest.mark.neural


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = import_module("benchmarks.passage_scoring")
    monkeypatch.setattr(module, "matrix_peak", lambda dtype: {"float32": 10.0, "bf16": 20.0}[dtype])
    return module


def test_a_row_holds_ratios_shares_of_the_peak_and_how_scores_differ(
    benchmark: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The peer takes 3 s (of CPU time 6), ours 1 (2) and 0.5 (1); 3e10 operations are 10 GFLOP/s for the peer."""
    peer, exact, rounded = (lambda: np.array([0.0, 1.0, 2.0]) for _ in range(3))
    works = {peer: (6.0, 3.0), exact: (2.0, 1.0), rounded: (1.0, 0.5)}
    monkeypatch.setattr(benchmark, "_timed", works.__getitem__)
    monkeypatch.setattr(benchmark, "count_operations", lambda work: {peer: 3e10, exact: 5e9, rounded: 5e9}[work])
    rows = list(benchmark.compared("w", peer, {"float32": exact, "bf16": rounded}, threads=1, repeats=2))
    assert [(row.ours, row.ratio_cpu, row.ratio_wall, row.n) for row in rows] == [
        ("float32", 3.0, 3.0, 3),
        ("bf16", 6.0, 6.0, 3),
    ]
    assert [(row.share, row.peer_share) for row in rows] == [(0.5, 1.0), (0.5, 1.0)]
    assert [(row.difference, row.tau) for row in rows] == [(0.0, 1.0)] * 2


def test_documents_are_read_up_to_a_number_of_passages_and_each_has_a_query(
    benchmark: ModuleType, shared_data: Path
) -> None:
    from longrank.text.segment import make_segmenter

    tasks = list(benchmark.read_tasks(shared_data / "time", make_segmenter("windows"), 12))
    assert sum(len(task.texts) for task in tasks) == 12
    assert all(1 <= len(task.texts) <= 4 for task in tasks)
    assert len({task.query.query_id for task in tasks}) == len({task.doc_id for task in tasks}) == len(tasks)
