"""A task whose replica is killed is asked once more; deadlines and callers that leave cancel it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("ray", reason="needs the extra ray")
pytest.importorskip("ray.serve", reason="needs the extra ray-serve")

import ray

from longrank.engines import replicas
from longrank.engines.replicas import Handles, Lost, Replicas, Wanted
from longrank.errors import InputError, LongRankError

pytestmark = pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore::ResourceWarning", "ignore::DeprecationWarning"
)


class Response:
    """What a handle returns: an awaitable that can be cancelled."""

    def __init__(self, outcome: Callable[[], Any], seconds: float) -> None:
        self.outcome, self.seconds, self.cancelled = outcome, seconds, False

    def cancel(self) -> None:
        self.cancelled = True

    def __await__(self) -> Any:
        yield from asyncio.sleep(self.seconds).__await__()
        return self.outcome()


class Handle:
    """A handle whose calls have given outcomes: values, exceptions to return, or a function that raises."""

    def __init__(self, *outcomes: Any, seconds: float = 0.0) -> None:
        self.outcomes, self.seconds = list(outcomes), seconds
        self.tasks: list[Any] = []
        self.responses: list[Response] = []

    @property
    def ask(self) -> Any:
        return self

    def remote(self, task: Any) -> Response:
        outcome = self.outcomes.pop(0)
        self.tasks.append(task)
        self.responses.append(Response(outcome if callable(outcome) else lambda: outcome, self.seconds))
        return self.responses[-1]


def killed() -> Any:
    raise ray.exceptions.ActorDiedError


def unavailable() -> Any:
    from ray.serve.exceptions import DeploymentUnavailableError

    raise DeploymentUnavailableError(None)


def failed() -> Any:
    raise ray.exceptions.RayTaskError("ask", "a traceback\nMemoryError", MemoryError())


def ask(handle: Handle, seconds: float = 9.0) -> Any:
    made = iter(range(9))
    return asyncio.run(Handles({"p": handle}).ask("p", lambda: next(made), time.monotonic() + seconds))


def test_a_task_of_a_killed_replica_is_made_and_asked_once_more() -> None:
    handle = Handle(killed, "answer")
    assert ask(handle) == "answer"
    assert handle.tasks == [0, 1]


def test_a_second_kill_loses_the_task() -> None:
    with pytest.raises(Lost, match="the replica of 'p' was killed"):
        ask(Handle(killed, killed, "never"))
    with pytest.raises(Lost):
        ask(Handle(killed, unavailable))


def test_an_error_of_the_function_is_raised_and_not_asked_again() -> None:
    handle = Handle(ValueError("wrong"))
    with pytest.raises(ValueError, match="wrong"):
        ask(handle)
    assert handle.tasks == [0]
    with pytest.raises(LongRankError, match="a replica of 'p' failed: MemoryError"):
        ask(Handle(failed))


def test_the_deadline_cancels_the_task() -> None:
    handle = Handle("late", seconds=9.0)
    with pytest.raises(TimeoutError):
        ask(handle, 0.05)
    assert handle.responses[0].cancelled


def test_a_caller_that_leaves_cancels_the_task() -> None:
    handle = Handle("late", seconds=9.0)

    async def leave() -> None:
        task = asyncio.create_task(Handles({"p": handle}).ask("p", lambda: 0, time.monotonic() + 9))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(leave())
    assert handle.responses[0].cancelled


class Cluster:
    """A cluster that is only looked at."""

    closed = False

    def __init__(self, *_: object) -> None: ...

    def __exit__(self, *_: object) -> None:
        Cluster.closed = True


@pytest.mark.parametrize(
    ("resources", "fault"),
    [
        (
            {"CPU": 1.0, "GPU": 1.0},
            "the Ray cluster has room for 1 of 2 replicas of 'p' .got 'CPU=1,GPU=1'.; use fewer",
        ),
        ({"CPU": 5.0}, "the Ray cluster has room for 1 of 2 replicas of 'p' .got 'CPU=5'."),
        ({"CPU": 4.0}, "the Ray cluster has 8 CPUs, the replicas take 9"),
    ],
)
def test_replicas_without_room_are_refused(monkeypatch, resources: dict[str, float], fault: str) -> None:
    nodes = [{"Alive": True, "Resources": {"CPU": 8.0, "GPU": 1.0}}]
    monkeypatch.setattr(replicas, "Ray", Cluster)
    monkeypatch.setattr(ray, "nodes", lambda: nodes)
    function: Any = object()
    wanted = {"p": Wanted(function, 2, resources), "q": Wanted(function)}
    with pytest.raises(InputError, match=fault):
        Replicas(wanted, "", prefix="longrank")
    assert Cluster.closed
