"""The comparison of first stages runs, and compares what it says it compares."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def first_stage() -> ModuleType:
    return import_module("benchmarks.first_stage")


OURS = [[("a", 4.0), ("b", 2.0), ("c", 1.0)]]


@pytest.mark.parametrize(
    ("theirs", "overlap", "difference"),
    [
        ([("a", 4.0), ("b", 2.0), ("c", 1.0)], 1.0, 0.0),
        ([("b", 4.0), ("a", 2.0), ("c", 1.0)], 1.0, 0.0),
        ([("a", 4.0), ("b", 2.0), ("z", 1.0)], 1.0, 0.0),  # ties with our last
        ([("a", 4.0), ("z", 2.0), ("c", 1.0)], 2 / 3, 0.0),
        ([("a", 3.0), ("b", 2.0), ("c", 1.0), ("d", 1.0)], 1.0, 0.25),
        ([("a", 4.0), ("b", 2.0), ("z", 0.0)], 2 / 3, 0.0),  # found without a term of the query
    ],
)
def test_rankings_are_compared_up_to_ties_with_the_last(
    first_stage: ModuleType, theirs: list[tuple[str, float]], overlap: float, difference: float
) -> None:
    assert first_stage.compared(OURS, [theirs], 1.0) == pytest.approx(
        {"overlap": overlap, "score_difference": difference}
    )
    scaled = [(doc_id, 2.2 * score) for doc_id, score in theirs]
    assert first_stage.compared(OURS, [scaled], 2.2)["overlap"] == pytest.approx(overlap)


def test_it_runs_on_generated_documents_and_names_a_peer_that_is_not_there(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.first_stage", "--folder", tmp_path, "--engines", "longrank", "lucene"]
    command += ["--docs", "120", "--queries", "8", "--rounds", "2", "--k", "20", "--lucene-python", "/nowhere/python"]
    done = subprocess.run([*map(str, command)], cwd=ROOT, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[0] == f"## generated, 120 documents; 8 queries, k = 20, {json.loads(lines[-1])[0]['cores']} cores"
    assert any(line.startswith("| lucene: not installed (No such file or directory) | - |") for line in lines)
    (summary,) = json.loads(lines[-1])
    assert set(summary["medians"]["ids p50"]) == {"longrank"}
    assert summary["rm3_over_searches"] > 0
    assert [path.name for path in tmp_path.iterdir()] == ["generated-120-1"]


@pytest.mark.slow
@pytest.mark.parametrize("peer", ["bm25s", "tantivy"])
def test_a_peer_finds_what_we_find(tmp_path: Path, peer: str) -> None:
    pytest.importorskip(peer)
    command = [sys.executable, "-m", "benchmarks.first_stage", "--folder", tmp_path, "--engines", "longrank", peer]
    command += ["--docs", "3000", "--queries", "50", "--rounds", "1"]
    done = subprocess.run([*map(str, command)], cwd=ROOT, capture_output=True, text=True, check=True)
    (summary,) = json.loads(done.stdout.splitlines()[-1])
    assert summary["left_out"] == {}
    assert summary["checks"][peer] == pytest.approx({"overlap": 1.0, "score_difference": 0.0}, abs=1e-5)
