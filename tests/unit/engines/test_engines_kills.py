"""Workers, nodes and drivers of an engine are killed at random; the bytes stay the same (`make test-ray`)."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import NamedTuple

import pytest

import killable
import preloaded
from longrank.index import Index, verify_index
from longrank.reproduction.phases import check_outputs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200)]
KILLS = int(os.environ.get("KILLS", "30"))
FEW = max(3, KILLS // 5)
"""Of work whose workers take long to be ready again."""


class Kills(NamedTuple):
    """How a work is killed: number of kills, and the seconds between two of workers or nodes, from and to."""

    number: int
    pause: tuple[float, float]


BY_WORK = {
    "shards and runs": Kills(KILLS, (2, 8)),
    "folds": Kills(FEW, (5, 20)),
    "recipes": Kills(FEW, (5, 20)),
}
assert BY_WORK.keys() == killable.WORKS.keys()


class Work(NamedTuple):
    """A work, a folder with what it reads, and the files after it was done by one process, in so many seconds."""

    name: str
    inputs: Path
    expected: dict[str, bytes]
    seconds: float

    def start(self, folder: Path, engine: str = "local", workers: int = 1) -> BaseProcess:
        """Begin or resume it in a folder."""
        if not folder.exists():
            shutil.copytree(self.inputs, folder)
        process = preloaded.context().Process(target=killable.do, args=(self.name, folder, engine, workers))
        process.start()
        return process


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file, without locks, absolute paths of documents, and the seconds of recipes' commands."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in (".lock", ".sources.jsonl"))
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(files)}
    if phases := found.pop("out/phases.json", None):
        found |= {f"of {name}": _without_seconds(phase) for name, phase in json.loads(phases).items()}
    return found


def _without_seconds(phase: dict[str, object]) -> bytes:
    return json.dumps({key: value for key, value in phase.items() if key != "seconds"}).encode()


@pytest.fixture(scope="module", params=BY_WORK)
def work(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Work:
    name = request.param
    if name == "folds":
        pytest.importorskip("torch", reason="needs the extra neural")
    inputs = tmp_path_factory.mktemp("inputs")
    killable.prepare(name, inputs)
    here = tmp_path_factory.mktemp("local") / "here"
    begun = time.monotonic()
    process = Work(name, inputs, {}, 0).start(here)
    process.join()
    assert process.exitcode == 0
    return Work(name, inputs, contents(here), time.monotonic() - begun)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Three nodes of one CPU; the head has none to lose."""
    pytest.importorskip("ray", reason="needs the extra ray")
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", str(Path(killable.__file__).parent), prepend=os.pathsep)
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
        process = work.start(folder, f"ray={cluster.address}", workers=3)
        while process.is_alive():
            process.join(rng.uniform(*how.pause))
            if process.is_alive() and len(kills) < how.number:
                kills.append(disturb(cluster, rng))
        assert process.exitcode == 0, kills
        assert contents(folder) == work.expected
    print(json.dumps({"work": work.name, "kills": kills, "runs": number}))


def test_a_killed_driver_of_a_cluster_resumes_with_the_same_bytes(tmp_path: Path, cluster, work: Work) -> None:
    kill_drivers(tmp_path, work, f"ray={cluster.address}", workers=3)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_driver_of_processes_resumes_with_the_same_bytes(tmp_path: Path, work: Work, workers: int) -> None:
    kill_drivers(tmp_path, work, "local", workers)


def kill_drivers(folder: Path, work: Work, engine: str, workers: int) -> None:
    """Kill a command at random moments and start it again, until it ends; begin anew until all kills are done."""
    rng, kills, number, how = random.Random(KILLS), 0, 0, BY_WORK[work.name]
    while kills < how.number:
        here, number = folder / str(number), number + 1
        while True:
            process = work.start(here, engine, workers)
            process.join(work.seconds * rng.uniform(0, 1.2) if kills < how.number else None)
            if not process.is_alive():
                break
            process.kill()
            process.join()
            kills += 1
            check_state(here)
        assert process.exitcode == 0
        assert contents(here) == work.expected
    print(
        json.dumps({"work": work.name, "engine": engine, "workers": workers, "drivers killed": kills, "runs": number})
    )


def check_state(folder: Path) -> None:
    """Check what a killed driver has left."""
    if (folder / "index/manifest.json").exists():
        verify_index(folder / "index")
        assert len(Index(folder / "index").parts) == (1 if (folder / "qrels.txt").exists() else 3)
    if (folder / "out/phases.json").exists():
        check_outputs(folder / "out")
