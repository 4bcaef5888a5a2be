"""Run tasks on a Ray cluster.

    Ray          connects to the cluster (`connecting`) and chooses the number of actors
    crew.Crew    hires actors (`actors`), gives each a task at a time, and does the tasks of killed actors again

A killed driver takes its actors with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Self, TypeVar

from longrank.engines.actors import places, shown
from longrank.engines.connecting import connect, imported
from longrank.engines.crew import Crew
from longrank.engines.local import cores
from longrank.errors import InputError

T = TypeVar("T")
R = TypeVar("R")


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
            connect(self._ray, address, max(float(cores()), (workers or 0) * self.resources["CPU"]))
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
        crew = Crew(self._ray, functions, self.resources)
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
