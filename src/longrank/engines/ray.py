"""Run tasks on a Ray cluster.

    Ray     connects to the cluster and chooses the number of actors
    _Crew   hires actors, gives each a task at a time, and does the tasks of killed actors again

An actor opens what a function needs at its first task and keeps it. Tasks are pure functions, so a task that is done
again gives the same bytes. A killed driver takes its actors with it.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from longrank.engines.local import cores
from longrank.engines.order import is_far_ahead, result
from longrank.engines.versions import installed
from longrank.errors import InputError, LongRankError, MissingExtra

T = TypeVar("T")
R = TypeVar("R")

_MOST_KILLS = 5  # of actors at the same task, or of actors one after another before they are ready
_PATIENCE = 20.0  # seconds without an actor, until the cluster is asked for its room
_OBJECT_STORE = 1 << 30  # bytes, for a cluster of this machine alone; a few blocks for each actor are in it
_HERE = "this machine"


class Ray:
    """Actors of a Ray cluster; follows `longrank.engines.Engine`.

    Args:
        workers: actors. None: all that the cluster has room for, less one CPU.
        address: the cluster; ``auto``: the cluster that this machine is a node of. "": a cluster of this machine.
        resources: resources of each actor by Ray's names: ``CPU``, ``GPU``, ``memory``, or custom names.

    Raises:
        MissingExtra: ray is not installed.
        InputError: no cluster there, of other versions, or without room for an actor.
    """

    def __init__(self, workers: int | None = None, address: str = "", resources: Mapping[str, float] | None = None):
        self._ray = imported()
        self.resources = {"CPU": 1.0, **(resources or {})}
        self._own = not self._ray.is_initialized()  # a script may have connected already
        if self._own:
            _connect(self._ray, address, max(float(cores()), (workers or 0) * self.resources["CPU"]))
        try:
            self.workers = workers or self._room()
        except BaseException:
            self.__exit__()
            raise

    @property
    def threads(self) -> int | None:
        """CPU threads for each actor."""
        return max(1, int(self.resources["CPU"]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._own:
            self._ray.shutdown()

    def each(
        self, function: Callable[[T], R] | Sequence[Callable[[T], R]], tasks: Iterable[T]
    ) -> Iterator[tuple[int, R]]:
        """Call `function` with every task, as `longrank.engines.Engine.each`.

        A task whose actor or node was killed is done again.

        Raises:
            InputError: a node lacks LongRank, or its versions differ.
            LongRankError: a task killed its actors repeatedly, or no node is left.
        """
        functions = [function] if callable(function) else list(function)
        crew = _Crew(self._ray, functions, self.resources)
        try:
            yield from crew.work(enumerate(tasks), self.workers)
        finally:
            crew.dismiss()

    def _room(self) -> int:
        """Return the number of actors that the nodes hold now, with a CPU left for others."""
        room = places(self._ray.nodes(), self.resources)
        if not room:
            raise InputError("no node of the Ray cluster has room for a worker", got=shown(self.resources))
        return max(1, room - 1) if self._ray.cluster_resources().get("CPU", 0) <= room * self.resources["CPU"] else room


def places(nodes: Iterable[Mapping[str, Any]], resources: Mapping[str, float]) -> int:
    """Return the number of actors for which living nodes have the resources, in use or not."""
    return sum(
        min(int(node["Resources"].get(name, 0) // amount) for name, amount in resources.items())
        for node in nodes
        if node["Alive"]
    )


def imported() -> Any:
    """Return ray.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        import ray
    except ImportError:
        raise MissingExtra("--engine ray", "ray") from None
    return ray


def _connect(ray: Any, address: str, n_cpus: float) -> None:
    """Connect to a cluster, or start a cluster of this machine, which ends with this process."""
    logging.getLogger("ray").setLevel(logging.ERROR)
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    if address:
        options["address"] = address
    else:
        options |= {"address": "local", "num_cpus": int(n_cpus), "include_dashboard": False}
        options["object_store_memory"] = _OBJECT_STORE
    try:
        ray.init(**options)
    except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        raise InputError(
            f"cannot connect to a Ray cluster: {line_of(error)}",
            got=address or _HERE,
            fix="`ray status` must work here; docs/scale.md tells how to start a cluster",
        ) from error


class _Doing(NamedTuple):
    """A task in work."""

    actor: Any
    number: int
    task: Any


class _Crew:
    """Actors with one task each; tasks of killed actors come first again."""

    def __init__(self, ray: Any, functions: Sequence[Callable[[Any], Any]], resources: Mapping[str, float]) -> None:
        self._ray = ray
        self._arguments = cycle([(ray.put(function), *rest) for function, *rest in map(worker_arguments, functions)])
        self._resources = resources
        self._actor = ray.remote(worker_class()).options(**options_of(resources))
        self._starting: dict[Any, Any] = {}  # reference -> actor
        self._free: list[Any] = []
        self._doing: dict[Any, _Doing] = {}  # reference -> task
        self._again: deque[tuple[int, Any]] = deque()
        self._kills: Counter[int] = Counter()  # by task
        self._failed_starts = 0

    def work(self, tasks: Iterator[tuple[int, Any]], n_actors: int) -> Iterator[tuple[int, Any]]:
        """Yield (number, result) in order of completion."""
        first = list(islice(tasks, n_actors))  # no more actors than tasks
        self._again.extend(first)
        for _ in first:
            self._hire()
        ahead: list[tuple[int, Any]] = []
        while self._assign(tasks, ahead, n_actors) or self._doing:
            yield from self._finished()

    def dismiss(self) -> None:
        """End all actors."""
        for actor in (*self._starting.values(), *self._free, *(doing.actor for doing in self._doing.values())):
            self._ray.kill(actor)

    def _assign(self, tasks: Iterator[tuple[int, Any]], ahead: list[tuple[int, Any]], n_actors: int) -> bool:
        """Give tasks to the free actors; return True if tasks are left."""
        while True:
            if not (self._again or ahead):
                ahead.extend(islice(tasks, 1))
            if not (self._again or ahead):
                return False
            busy = [doing.number for doing in self._doing.values()]
            if not self._free or (not self._again and is_far_ahead(ahead[0][0], busy, n_actors)):
                return True
            number, task = self._again.popleft() if self._again else ahead.pop()
            actor = self._free.pop()
            self._doing[actor.run.remote(task)] = _Doing(actor, number, task)

    def _finished(self) -> Iterator[tuple[int, Any]]:
        """Wait for an actor to start or to finish its task; yield what is finished."""
        waiting = [*self._doing, *self._starting]
        ready, _ = self._ray.wait(waiting, num_returns=1, timeout=_PATIENCE)
        if not ready and not self._doing:
            self._check_room()
        for reference in ready:
            if reference in self._starting:
                self._started(reference)
            else:
                yield from self._done(reference)

    def _started(self, reference: Any) -> None:
        actor = self._starting.pop(reference)
        try:
            fault = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise LongRankError(f"a worker of the Ray cluster cannot start: {line_of(error)}") from error
        except self._ray.exceptions.RayError as error:
            self._failed_starts += 1
            if self._failed_starts > _MOST_KILLS + len(self._starting):
                raise LongRankError(f"workers of the Ray cluster do not start: {line_of(error)}") from error
            self._replace(actor)
            return
        if fault:
            raise InputError(fault, fix="install the same packages on every node")
        self._failed_starts = 0
        self._free.append(actor)

    def _done(self, reference: Any) -> Iterator[tuple[int, Any]]:
        actor, number, task = self._doing.pop(reference)
        try:
            answered = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:  # not the function's, which is returned
            self._free.append(actor)
            raise LongRankError(f"a worker of the Ray cluster failed: {line_of(error)}") from error
        except self._ray.exceptions.RayError as error:
            self._kills[number] += 1
            if self._kills[number] > _MOST_KILLS:
                fix = "give each worker more, for example --resources CPU=1,memory=8e9, or use smaller batches"
                what = f"block {number} killed {self._kills[number]} workers of the Ray cluster"
                raise LongRankError(f"{what}, perhaps for lack of memory; {fix} ({line_of(error)})") from error
            self._again.append((number, task))
            self._replace(actor)
            return
        self._free.append(actor)
        yield number, result(answered)

    def _hire(self) -> None:
        actor = self._actor.remote()
        self._starting[actor.open.remote(*next(self._arguments))] = actor

    def _replace(self, actor: Any) -> None:
        self._ray.kill(actor)
        self._hire()

    def _check_room(self) -> None:
        """Raise an error if no node is left that could hold an actor; else it is in use, and work waits."""
        if not places(self._ray.nodes(), self._resources):
            raise LongRankError(f"no node of the Ray cluster is left with {shown(self._resources)}; run the same again")


def worker_class() -> type:
    """Return the class of the actors. It is pickled by value, so a node without LongRank can say so."""

    class Worker:
        def open(self, function: bytes, versions: dict[str, str], folder: str) -> str:
            """Take the function and the driver's current folder; return the fault of this node, or ""."""
            import os
            import pickle
            import platform

            node = platform.node()
            try:
                from longrank.engines.versions import difference, installed
            except ImportError as error:
                return f"the Ray node {node} cannot import longrank: {error}"
            if differs := difference(versions, installed()):
                return f"the Ray node {node} has {differs}"
            if os.path.isdir(folder):  # noqa: PTH112 - relative paths are the driver's, where the nodes share its folder
                os.chdir(folder)
            self._function = pickle.loads(function)  # noqa: S301
            return ""

        def run(self, task: Any) -> Any:
            """Return the result of a task, or the exception that it raised."""
            from longrank.engines.order import answer

            return answer(self._function, task)

    return Worker


def worker_arguments(function: Any) -> tuple[bytes, dict[str, str], str]:
    """Return the arguments of a worker's ``open``: the pickled function, this process's versions and folder."""
    return imported().cloudpickle.dumps(function), installed(), str(Path.cwd())


def options_of(resources: Mapping[str, float]) -> dict[str, Any]:
    """Return Ray's options of an actor that holds some resources."""
    known = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}
    options: dict[str, Any] = {known[name]: amount for name, amount in resources.items() if name in known}
    return {**options, "resources": {name: amount for name, amount in resources.items() if name not in known}}


def shown(resources: Mapping[str, float]) -> str:
    """Return resources as ``--resources`` takes them."""
    return ",".join(f"{name}={amount:g}" for name, amount in resources.items())


def line_of(error: Exception) -> str:
    """Return the last line of a message, which names the cause."""
    return (str(error).strip() or type(error).__name__).splitlines()[-1].strip()
