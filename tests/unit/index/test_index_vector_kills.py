"""A kill at any moment leaves the stored vectors of before or after: sparse, 8-bit and approximate search."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fakes import documents, index_of
from longrank.index import Index, verify_index
from stored import random_vectors, store, store_sparse

CHILD = """
import sys
from pathlib import Path
sys.path[:0] = [sys.argv[3]]
from itertools import count
from longrank.index import Index
from stored import random_vectors, store, store_sparse
index, kind = Index(sys.argv[1]), sys.argv[2]
if kind == "graph":
    from longrank.retrieval.approximate import write_graph
    stored = store(index, random_vectors(index))
print("ready", flush=True)
for round in count():
    if kind == "sparse":
        store_sparse(index, 1 + round % 2)
    elif kind == "int8":
        store(index, random_vectors(index, seed=1 + round % 2), dtype="int8")
    else:
        write_graph(index, stored, ("hnsw", "ivf-pq")[round % 2])
"""
TESTS = str(Path(__file__).parents[2])


def killed(folder: Path, kind: str, after: float) -> None:
    command = [sys.executable, "-c", CHILD, str(folder), kind, TESTS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(after)
        child.send_signal(signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL


def state(index: Index) -> dict[str, bytes]:
    """Return the files of the vectors by path."""
    rooms = (index.path / name for name in ("vectors", "sparse"))
    return {str(p.relative_to(index.path)): p.read_bytes() for room in rooms for p in room.rglob("*") if p.is_file()}


def states(index: Index, kind: str) -> list[dict[str, bytes]]:
    """Return the two states that the child writes in turn."""
    found = []
    for n in (1, 2):
        if kind == "sparse":
            store_sparse(index, n)
        else:
            store(index, random_vectors(index, seed=n), dtype="int8")
        found.append(state(index))
    return found


def kill_often(folder: Path, kind: str, kills: int) -> None:
    index, rng = index_of(documents(120), folder), random.Random(kills)
    expected = states(index, kind)
    for _ in range(kills):
        killed(folder, kind, rng.uniform(0, 0.3))
        found = state(index)
        assert found in expected
        assert verify_index(folder) > 0
    assert states(index, kind) == expected
    assert not list(folder.glob(".building-*"))


@pytest.mark.parametrize("kind", ["sparse", "int8"])
def test_random_kills_leave_whole_vectors(tmp_path: Path, kind: str) -> None:
    kill_often(tmp_path / "index", kind, 2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sparse", "int8"])
def test_a_hundred_random_kills_leave_whole_vectors(tmp_path: Path, kind: str) -> None:
    kill_often(tmp_path / "index", kind, 100)


def test_a_kill_leaves_no_part_of_a_graph(tmp_path: Path) -> None:
    pytest.importorskip("faiss", reason="needs the extra ann")
    from longrank.index.vectors import stored_vectors
    from longrank.retrieval.approximate import open_graph, write_graph

    index = index_of(documents(60), tmp_path / "index")
    killed(index.path, "graph", 0.3)
    graph = open_graph(stored_vectors(index))
    assert graph is None or graph.recall > 0.9
    assert verify_index(index.path) > 0
    method = "ivf-pq" if graph is None or graph.method == "hnsw" else "hnsw"
    assert write_graph(index, stored_vectors(index), method).method == method
    assert not list(index.path.glob(".building-*"))
