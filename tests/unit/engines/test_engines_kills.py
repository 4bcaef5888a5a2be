"""Workers, nodes and drivers of a Ray cluster are killed at random; the bytes stay the same (`make test-ray`)."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from longrank.index import Index, verify_index

pytest.importorskip("ray", reason="needs the extra ray")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200)]
KILLS = int(os.environ.get("KILLS", "30"))

WORK = """
import os, sys
os.fsync = lambda descriptor: None
import longrank
from longrank.engines import open_engine
from longrank.formats.trec import write_run
from longrank.index import Index, batches
from longrank.retrieval import blocks
batches._CHARS, blocks._BLOCK = 20000, 8
folder, address = sys.argv[1:]
words = [f"w{n % 97} w{n % 89} dogs bark " * 10 for n in range(2000)]
queries = {f"q{n}": f"w{n % 97} w{n % 53} dogs" for n in range(160)}
with open_engine(f"ray={address}", workers=3) if address else open_engine("local") as engine:
    documents = [(f"d{n:04d}", text) for n, text in enumerate(words)]
    index = Index.build(documents, f"{folder}/index", shards=3, engine=engine)
    run = longrank.retrieve(index, queries, k=20, engine=engine)
    write_run(run, f"{folder}/first.run")
    settings = {"final.block_queries": 4}
    evidence = f"{folder}/evidence"
    run = longrank.rerank(
        index, queries, run, pipeline="lexical", depth=20, evidence=evidence, assignments=settings, engine=engine
    )
    write_run(run, f"{folder}/last.run")
"""


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(files)}


def work(folder: Path, address: str = "") -> subprocess.Popen[bytes]:
    folder.mkdir(exist_ok=True)
    return subprocess.Popen([sys.executable, "-c", WORK, str(folder), address], start_new_session=True)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("local")
    assert work(folder).wait() == 0
    return contents(folder)


@pytest.fixture
def cluster() -> Iterator[object]:
    """Three nodes of one CPU; the head has none to lose."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": 200 << 20})
    for _ in range(3):
        add_node(made)
    yield made
    made.shutdown()


def add_node(cluster: object) -> None:
    """Add a node of one CPU; on a busy machine Ray may give up waiting for it, so several times."""
    for attempt in range(9):
        try:
            cluster.add_node(num_cpus=1, object_store_memory=200 << 20)
            return
        except Exception:
            if attempt == 8:
                raise


def actors_of(cluster: object) -> list[int]:
    """Return the processes of the cluster's workers that hold a function."""
    raylets = {str(info.process.pid) for node in cluster.list_all_nodes() for info in node.all_processes["raylet"]}
    listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    return [int(pid) for pid, parent, arguments in rows if parent in raylets and arguments.startswith("ray::Worker")]


def disturb(cluster: object, rng: random.Random) -> str:
    """Kill a worker, or a node that is replaced."""
    if rng.random() < 0.5:
        actors = actors_of(cluster)
        if actors:
            os.kill(rng.choice(actors), signal.SIGKILL)
            return "worker"
    cluster.remove_node(rng.choice(sorted(cluster.worker_nodes, key=str)), allow_graceful=False)
    add_node(cluster)
    return "node"


def test_killed_workers_and_nodes_change_no_byte(tmp_path: Path, cluster, expected: dict[str, bytes]) -> None:
    rng, kills, number = random.Random(KILLS), [], 0
    while len(kills) < KILLS:
        folder, number = tmp_path / str(number), number + 1
        process = work(folder, cluster.address)
        while process.poll() is None:
            time.sleep(rng.uniform(2, 8))
            if process.poll() is None and len(kills) < KILLS:
                kills.append(disturb(cluster, rng))
        assert process.returncode == 0, kills
        assert contents(folder) == expected
    print(json.dumps({"kills": kills, "runs": number}))


def test_a_killed_driver_resumes_with_the_same_bytes(tmp_path: Path, cluster, expected: dict[str, bytes]) -> None:
    rng, kills = random.Random(KILLS), 0
    while kills < KILLS:
        folder = tmp_path / str(kills)
        while True:
            process = work(folder, cluster.address)
            try:
                process.wait(rng.uniform(5, 40) if kills < KILLS else None)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                kills += 1
                if (folder / "index/manifest.json").exists():
                    verify_index(folder / "index")
                    assert len(Index(folder / "index").parts) == 3
                continue
            assert process.returncode == 0
            break
        assert contents(folder) == expected
