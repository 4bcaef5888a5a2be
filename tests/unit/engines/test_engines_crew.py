"""Actors that die or do not start end the work in one sentence, after a bounded number of trials."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ray", reason="needs the extra ray")

from ray.exceptions import ActorDiedError, OutOfMemoryError

from longrank.engines import crew
from longrank.engines.crew import Crew
from longrank.errors import LongRankError

MEMORY = "use smaller batches or fewer --workers, or reserve more for each, for example --resources CPU=1,memory=8e9"


class Reference:
    """Stands for the result of a call, which is there at once."""

    def __init__(self, outcome: Any) -> None:
        self.outcome = outcome


class FakeRay:
    """A cluster whose actors have given outcomes: of their start, and of their tasks."""

    exceptions = SimpleNamespace(
        **{
            name: getattr(__import__("ray").exceptions, name)
            for name in ("RayError", "RayTaskError", "OutOfMemoryError")
        }
    )

    def __init__(self, start: Any = "", run: Any = None, *, silent: bool = False, used: float = 0.0) -> None:
        self.outcomes = {"open": start, "run": run}
        self.silent, self.used = silent, used
        self.hired = self.waits = 0
        self.killed: list[Any] = []

    def remote(self, worker: Any) -> Any:
        return SimpleNamespace(options=lambda **options: SimpleNamespace(remote=self.hire))

    def hire(self) -> Any:
        self.hired += 1
        methods = {
            name: SimpleNamespace(remote=lambda *given, outcome=outcome: Reference(outcome))
            for name, outcome in self.outcomes.items()
        }
        return SimpleNamespace(**methods)

    def put(self, value: Any) -> Any:
        return value

    def get(self, reference: Reference) -> Any:
        if isinstance(reference.outcome, Exception):
            raise reference.outcome
        return reference.outcome

    def wait(self, references: list[Reference], **options: Any) -> Any:
        self.waits += 1
        assert self.waits < 100
        return ([], references) if self.silent else (references[:1], references[1:])

    def kill(self, actor: Any) -> None:
        self.killed.append(actor)

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": True, "Resources": self.cluster_resources()}]

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 4.0}

    def available_resources(self) -> dict[str, float]:
        return {"CPU": 4.0 - self.used}


def work(fake: FakeRay, tasks: int = 1) -> list[Any]:
    hired = Crew(fake, [abs], {"CPU": 1.0})
    try:
        return list(hired.work(enumerate(range(tasks)), 2))
    finally:
        hired.dismiss()


def test_a_block_that_runs_out_of_memory_is_done_six_times_and_then_named() -> None:
    fake = FakeRay(run=OutOfMemoryError("Task was killed due to the node running low on memory.\n" + "a page " * 900))
    with pytest.raises(LongRankError) as caught:
        work(fake)
    cause = "Ray ended them because their node's memory ran out"
    assert str(caught.value) == (f"block 0 killed 6 workers of the Ray cluster, one after another: {cause}; {MEMORY}")
    assert (fake.hired, len(fake.killed)) == (6, 5)


def test_workers_that_die_before_they_are_ready_are_bounded_too() -> None:
    fake = FakeRay(start=OutOfMemoryError("a page"))
    with pytest.raises(LongRankError, match=r"^workers of the Ray cluster do not start: Ray ended them because their"):
        work(fake, 2)
    assert fake.hired < 12


def test_another_death_says_what_ray_said() -> None:
    with pytest.raises(LongRankError, match=r"perhaps memory ran out, then use smaller .*8e9 \(The actor died"):
        work(FakeRay(run=ActorDiedError()))


class Clock:
    """A clock that is a minute later whenever it is read."""

    now = 0.0

    def monotonic(self) -> float:
        Clock.now += 60.0
        return Clock.now


@pytest.mark.parametrize("used", [0.0, 1.0])
def test_a_worker_that_does_not_start_though_there_is_room_ends_the_work(monkeypatch, used: float) -> None:
    monkeypatch.setattr(crew, "time", Clock())
    fake = FakeRay(silent=True, used=used)
    with pytest.raises(LongRankError, match="has started no worker for 900 seconds, though it has room for one; `ray"):
        work(fake)
    assert 10 < fake.waits < 20


def test_a_worker_waits_while_other_work_has_the_resources(monkeypatch) -> None:
    monkeypatch.setattr(crew, "time", Clock())
    fake = FakeRay(silent=True, used=3.0)
    with pytest.raises(AssertionError):  # of the fake, after 100 times
        work(fake)


HUNGRY = """
import os, sys, time
import ray
from longrank.engines.ray import Ray
from longrank.errors import LongRankError

def eat(megabytes):
    held = []
    for _ in range(megabytes // 10):
        held.append(os.urandom(10 << 20))
        time.sleep(0.02)

left = dict(line.split(":") for line in open("/proc/meminfo"))
total, free = (int(left[name].split()[0]) << 10 for name in ("MemTotal", "MemAvailable"))
monitor = {"memory_usage_threshold": (total - free + (400 << 20)) / total, "memory_monitor_refresh_ms": 100}
ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error",
         object_store_memory=100 << 20, _system_config={**monitor, "worker_niceness": 0})
with Ray(2) as engine:
    try:
        list(engine.each(eat, [1500, 1500]))
    except LongRankError as error:
        print(error)
ray.shutdown()
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(not os.path.exists("/proc/meminfo"), reason="needs /proc/meminfo")  # noqa: PTH110
def test_work_that_rays_memory_monitor_kills_ends_in_one_sentence() -> None:
    done = subprocess.run([sys.executable, "-c", HUNGRY], capture_output=True, text=True, check=True, timeout=590)
    (said,) = done.stdout.splitlines()
    assert said.startswith(
        ("block ", "workers of the Ray cluster do not start")
    )  # the latter if others take the memory
    assert said.endswith(f"Ray ended them because their node's memory ran out; {MEMORY}")
