"""A server whose pipelines are replicas on a Ray cluster; replicas are killed under load (`make test-ray`)."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="needs the extra ray")
pytest.importorskip("ray.serve", reason="needs the extra ray-serve")
pytest.importorskip("fastapi", reason="needs the extra serve")
pytest.importorskip("torch", reason="needs the extra neural")

from fronts import CHOICES, PATIENT, SET, indexed, lasting, replies, searches
from longrank.engines.replicas import Replicas, Wanted
from longrank.errors import LongRankError
from longrank.service.cluster import Cluster, computing
from longrank.service.engine import Engine
from longrank.service.front import FrontEngine
from longrank.service.opening import open_engine
from longrank.service.replica import PipelineReplica
from longrank.service.served import PipelineChoice
from longrank.types import Notes
from served import Ask, Reply, answers, opened
from tiny_models import save_cross_encoder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(7200),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning", "ignore::DeprecationWarning"),
]
KILLS = int(os.environ.get("KILLS", "30"))
_REPLICA = re.compile(r"ray::\S+:(lexical|bm25|rm3|maxp)\b")
EXACT = [choice.pipeline for choice in CHOICES]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return indexed(tmp_path_factory.mktemp("serving") / "an.index")


@pytest.fixture(scope="module")
def choices(tmp_path_factory: pytest.TempPathFactory) -> list[PipelineChoice]:
    return [*CHOICES, PipelineChoice("maxp", str(save_cross_encoder(tmp_path_factory.mktemp("model") / "m")))]


@pytest.fixture(scope="module")
def here(source: Path, choices: list[PipelineChoice]) -> Engine:
    engine = open_engine(Engine, source, choices, SET, Notes())
    engine.load()
    return engine


@pytest.fixture(scope="module")
def there(source: Path, choices: list[PipelineChoice]) -> Iterator[FrontEngine]:
    engine = open_engine(FrontEngine, source, choices, SET, Notes())
    with computing(engine, Cluster("", 2, {}), source, PATIENT):
        engine.load()
        yield engine


def test_a_replica_that_cannot_open_says_why(tmp_path: Path) -> None:
    wanted = Wanted(PipelineReplica(tmp_path / "no.index", PipelineChoice("bm25"), (), PATIENT))
    with (
        Replicas({"bm25": wanted}, "", prefix="broken") as replicas,
        pytest.raises(LongRankError, match=r"a replica cannot be started: .*no.index"),
    ):
        replicas.start()


def test_answers_of_a_cluster_are_those_of_this_process(here: Engine, there: FrontEngine) -> None:
    texts = {"query": "ab c", "documents": ["ab", "c ab " * 40, "b"]}
    requests: list[tuple[Any, ...]] = [("POST", "/search", body) for body in searches(40, [*EXACT, "maxp"])]
    requests += [("POST", "/v1/rerank", {**texts, "model": name, "evidence": True}) for name in ("lexical", "maxp")]
    requests += [("POST", "/search", {"query": "a", "show": ["nothing"]}), ("GET", "/info")]
    assert replies(here, requests, PATIENT) == replies(there, requests, PATIENT)


def replicas() -> list[int]:
    """Return the processes of all replicas; a process at work has the name of its method."""
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 1) for line in listed.splitlines()]
    return [int(pid) for pid, arguments in rows if _REPLICA.match(arguments)]


def all_run() -> bool:
    """Tell whether two replicas of each pipeline run."""
    from ray import serve

    found = serve.status().applications.values()
    states = [one.replica_states for app in found for one in app.deployments.values()]
    return all(state == {"RUNNING": 2} for state in states) and len(replicas()) == 2 * len(states)


def test_killed_replicas_lose_no_request(here: Engine, there: FrontEngine) -> None:
    rng, bodies = random.Random(KILLS), searches(60, EXACT, seed=9)
    expected = replies(here, [("POST", "/search", body) for body in bodies], PATIENT)
    found: list[tuple[Any, Any]] = []
    kills = 0

    async def client(ask: Ask) -> None:
        while kills < KILLS or not all_run():
            n = rng.randrange(len(bodies))
            reply: Reply = await ask("POST", "/search", bodies[n])
            found.append(((reply.status, lasting(reply.json)), expected[n]))

    async def kill() -> None:
        nonlocal kills
        while kills < KILLS:
            while not await asyncio.to_thread(all_run):
                await asyncio.sleep(0.5)
            await asyncio.sleep(rng.uniform(0.2, 1.0))
            os.kill(rng.choice(replicas()), signal.SIGKILL)
            kills += 1
            await asyncio.sleep(1.0)

    async def talk(ask: Ask) -> None:
        await asyncio.gather(kill(), *(client(ask) for _ in range(6)))

    answers(opened(there, PATIENT), talk)
    print(json.dumps({"kills": kills, "requests": len(found)}))
    assert len(found) > KILLS
    wrong = [pair for pair in found if pair[0] != pair[1]]
    assert not wrong, wrong[0]


def get(url: str, body: Any = None) -> Any:
    request = urllib.request.Request(url, headers={"content-type": "application/json"})
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(request, data, timeout=300) as reply:
        return json.load(reply)


def test_the_command_serves_from_a_cluster_and_stops(source: Path, here: Engine, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "longrank", "serve", str(source), "--engine", "ray", "--port", "0"]
    options = [option for setting in SET for option in ("--set", setting)]
    with (tmp_path / "out").open("w") as out:
        process = subprocess.Popen([*command, *options, "--pipeline", "lexical", "--deadline", "600"], stdout=out)
    try:
        while "ready" not in (said := (tmp_path / "out").read_text()):
            assert process.poll() is None
            time.sleep(0.5)
        url = re.search(r"http://\S+", said)[0]  # type: ignore[index]
        body = {"query": "ab c", "pipeline": "lexical"}
        ((_, wanted),) = replies(here, [("POST", "/search", body)])
        found = lasting(get(f"{url}/search", body))
        assert {**found, "command": None} == {**wanted, "command": None}
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(600) == 0


def test_the_application_of_ray_serve_has_equal_answers(source: Path, here: Engine, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    script = f"""
import sys
from longrank.engines.ray import Ray
from ray import serve
from longrank.service.ingress import build
with Ray(3):
    serve.start(http_options={{"host": "127.0.0.1", "port": {port}}})
    serve.run(build({{
        "index": {str(source)!r}, "pipelines": ["lexical", "bm25"], "assignments": {list(SET)!r}, "insecure": True,
        "deadline": 600.0,
    }}), name="longrank")
    print("up", flush=True)
    sys.stdin.read()
"""
    options: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, "-c", script], **options)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        url = f"http://127.0.0.1:{port}"
        until = time.monotonic() + 600
        while True:
            try:
                assert get(f"{url}/ready") == {"status": "ready"}
                break
            except urllib.error.HTTPError as error:
                assert (error.code, time.monotonic() < until) == (503, True)
                time.sleep(0.5)
        body = {"query": "ab c", "pipeline": "bm25"}
        ((_, wanted),) = replies(here, [("POST", "/search", body)])
        assert {**lasting(get(f"{url}/search", body)), "command": None} == {**wanted, "command": None}
    finally:
        process.communicate("")
