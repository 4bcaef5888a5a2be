"""Workers, nodes and drivers of a Ray cluster are killed at random; the bytes stay the same (`make test-ray`)."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import killable
from longrank.index import Index, verify_index

pytest.importorskip("ray", reason="needs the extra ray")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200)]
KILLS = int(os.environ.get("KILLS", "30"))
FEW = max(3, KILLS // 5)
"""Of work whose workers take long to be ready again."""


class Kills(NamedTuple):
    """How a work is killed: number of kills, and the seconds between two, from and to."""

    number: int
    pause: tuple[float, float]


BY_WORK = {
    "shards and runs": Kills(KILLS, (2, 8)),
    "folds": Kills(FEW, (5, 20)),
}
assert BY_WORK.keys() == killable.WORKS.keys()


class Work(NamedTuple):
    """A work, a folder with what it reads, and the files after it was done by one process."""

    name: str
    inputs: Path
    expected: dict[str, bytes]

    def start(self, folder: Path, address: str = "") -> subprocess.Popen[bytes]:
        """Begin or resume it in a folder."""
        if not folder.exists():
            shutil.copytree(self.inputs, folder)
        command = [sys.executable, killable.__file__, self.name, address]
        return subprocess.Popen(command, cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1"}, start_new_session=True)


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file but locks."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(files)}


@pytest.fixture(scope="module", params=BY_WORK)
def work(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Work:
    name = request.param
    if name == "folds":
        pytest.importorskip("torch", reason="needs the extra neural")
    inputs = tmp_path_factory.mktemp("inputs")
    killable.prepare(name, inputs)
    here = tmp_path_factory.mktemp("local") / "here"
    assert Work(name, inputs, {}).start(here).wait() == 0
    return Work(name, inputs, contents(here))


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Three nodes of one CPU; the head has none to lose."""
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_worker_niceness", "0")  # beside other work, workers would take minutes to be ready
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


def test_killed_workers_and_nodes_change_no_byte(tmp_path: Path, cluster, work: Work) -> None:
    rng, number, how = random.Random(KILLS), 0, BY_WORK[work.name]
    kills: list[str] = []
    while len(kills) < how.number:
        folder, number = tmp_path / str(number), number + 1
        process = work.start(folder, cluster.address)
        while process.poll() is None:
            time.sleep(rng.uniform(*how.pause))
            if process.poll() is None and len(kills) < how.number:
                kills.append(disturb(cluster, rng))
        assert process.returncode == 0, kills
        assert contents(folder) == work.expected
    print(json.dumps({"work": work.name, "kills": kills, "runs": number}))


@pytest.mark.parametrize("work", ["shards and runs"], indirect=True)
def test_a_killed_driver_resumes_with_the_same_bytes(tmp_path: Path, cluster, work: Work) -> None:
    rng, kills, number = random.Random(KILLS), 0, 0
    while kills < KILLS:
        folder, number = tmp_path / str(number), number + 1
        while True:
            process = work.start(folder, cluster.address)
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
        assert contents(folder) == work.expected
    print(json.dumps({"work": work.name, "drivers killed": kills, "runs": number}))
