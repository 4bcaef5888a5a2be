"""Actors of a Ray cluster that share out tasks.

An actor opens what a function needs at its first task and keeps it. Tasks are pure functions, so a task that is done
again gives the same bytes.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle, islice
from typing import Any, NamedTuple

from longrank.engines.actors import options_of, places, shown, worker_arguments, worker_class
from longrank.engines.connecting import line_of
from longrank.engines.order import is_far_ahead, result
from longrank.errors import InputError, LongRankError

_MOST_KILLS = 5  # of actors at the same task, or of actors one after another before they are ready
_PATIENCE = 20.0  # seconds without an actor, until the cluster is asked for its room
_ROUNDING = 1e-6  # of sums of parts of a resource; Ray counts in 1e-4
_SECONDS_TO_START = 900.0  # of an actor, while nothing else is in work; a busy machine may take minutes
_MORE_MEMORY = (
    "use smaller batches or fewer --workers, or reserve more for each, for example --resources CPU=1,memory=8e9"
)


class _Doing(NamedTuple):
    """A task in work."""

    actor: Any
    number: int
    task: Any


class Crew:
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
        self._heard = time.monotonic()  # of an actor, last

    def work(self, tasks: Iterator[tuple[int, Any]], n_actors: int) -> Iterator[tuple[int, Any]]:
        """Yield (number, result) in order of completion."""
        first = list(islice(tasks, n_actors))  # no more actors than tasks
        self._again.extend(first)
        for _ in first:
            self._hire()
        ahead: list[tuple[int, Any]] = []
        found: list[tuple[int, Any]] = []
        while self._assign(tasks, ahead, n_actors) or self._doing:
            yield from found  # the caller works on results while the actors have tasks
            found = list(self._finished())
        yield from found

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
        if ready:
            self._heard = time.monotonic()
        elif not self._doing:
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
                raise LongRankError(f"workers of the Ray cluster do not start: {self._death(error)}") from error
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
                what = f"block {number} killed {self._kills[number]} workers of the Ray cluster, one after another"
                raise LongRankError(f"{what}: {self._death(error)}") from error
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

    def _death(self, error: Exception) -> str:
        """Return the cause of an actor's death, and what helps if it was memory; Ray's own message is a page."""
        if isinstance(error, self._ray.exceptions.OutOfMemoryError) or "running low on memory" in str(error):
            return f"Ray ended them because their node's memory ran out; {_MORE_MEMORY}"
        return f"perhaps memory ran out, then {_MORE_MEMORY} ({line_of(error)})"

    def _check_room(self) -> None:
        """Raise an error if no node could hold an actor, or none starts though no other work is in its way."""
        if not places(self._ray.nodes(), self._resources):
            raise LongRankError(f"no node of the Ray cluster is left with {shown(self._resources)}; run the same again")
        if time.monotonic() - self._heard > _SECONDS_TO_START and self._is_alone():
            what = (
                f"the Ray cluster has started no worker for {_SECONDS_TO_START:g} seconds, though it has room for one"
            )
            raise LongRankError(f"{what}; `ray status` and Ray's logs may tell why; then run the same again")

    def _is_alone(self) -> bool:
        """Say whether the cluster's resources are free, or held for the actors that are starting here."""
        total, free, starting = self._ray.cluster_resources(), self._ray.available_resources(), len(self._starting)
        held = {name: total.get(name, 0.0) - free.get(name, 0.0) for name in self._resources}
        return all(held[name] <= amount * starting + _ROUNDING for name, amount in self._resources.items())
