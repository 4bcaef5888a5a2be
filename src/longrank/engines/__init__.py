"""Engines that run blocks of work: processes of this machine, or a Ray cluster. Results are the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple, Protocol, TypeVar

from longrank.engines.local import Local as Local
from longrank.engines.local import cores as cores
from longrank.engines.opening import changed as changed
from longrank.engines.opening import check_same_model as check_same_model
from longrank.engines.opening import opening_here as opening_here
from longrank.engines.order import in_order as in_order
from longrank.errors import InputError
from longrank.registries import check_at_least, lookup

T = TypeVar("T")
R = TypeVar("R")


class Engine(Protocol):
    """Runs a function on many tasks."""

    @property
    def workers(self) -> int:
        """Processes or actors."""
        ...

    @property
    def threads(self) -> int | None:
        """CPU threads for each worker; None: as in this process."""
        ...

    def each(
        self, function: Callable[[T], R] | Sequence[Callable[[T], R]], tasks: Iterable[T]
    ) -> Iterator[tuple[int, R]]:
        """Call `function` with every task; yield (number of the task, result) in order of completion.

        Args:
            function: picklable; each worker gets one copy, so what it opens at its first call stays open. Or a
                function for each worker, with equal results.
            tasks: picklable; about one task for each worker is in memory, and `longrank.engines.order.AHEAD` results
                for each worker.

        Raises:
            LongRankError: a worker was killed, or too often.
            Exception: what `function` raises.
        """
        ...


ENGINES: dict[str, type[Engine] | str] = {"local": "longrank.engines.local:Local", "ray": "longrank.engines.ray:Ray"}
"""Engines by name; each takes the number of workers, the address after ``=``, and the resources of a worker."""


def open_engine(
    engine: str | Engine | None, *, workers: int | None = None, resources: Mapping[str, float] | str | None = None
) -> AbstractContextManager[Engine]:
    """Return an engine as a context, which frees the cluster at its end.

    Args:
        engine: ``local``; ``ray`` (a cluster on this machine); ``ray=ADDRESS`` (``ray=auto``: the cluster that this
            machine is a node of); or an engine, which stays open. None: ``local``.
        workers: processes or actors. None: 1 process; on a cluster all CPUs but one.
        resources: resources that each worker holds: ``{"GPU": 1, "CPU": 4}`` or ``"GPU=1,CPU=4"``. Default: 1 CPU.

    Raises:
        InputError: an unknown engine, or an option that it does not take.
        MissingExtra: ray is not installed.
    """
    if engine is not None and not isinstance(engine, str):
        if workers is not None or resources is not None:
            raise InputError("an open engine has its workers and resources", fix="give them to the engine")
        return nullcontext(engine)
    if workers is not None:
        check_at_least("workers", workers, 1)
    name, _, address = (engine or "local").partition("=")
    amounts = parsed_resources(resources) if isinstance(resources, str) else dict(resources or {})
    made: AbstractContextManager[Engine] = lookup(ENGINES, name, "engine")(workers, address, amounts)  # type: ignore
    return made


class EngineOptions(NamedTuple):
    """The options of `open_engine`."""

    engine: str | Engine | None = None
    workers: int | None = None
    resources: Mapping[str, float] | str | None = None

    @property
    def given(self) -> bool:
        """True if an option is given."""
        return any(option is not None for option in self)

    def open(self) -> AbstractContextManager[Engine]:
        """Return the engine, as `open_engine`."""
        return open_engine(self.engine, workers=self.workers, resources=self.resources)


def parsed_resources(text: str) -> dict[str, float]:
    """Return the amounts of ``GPU=1,CPU=4``.

    Raises:
        InputError: no such amounts.
    """
    amounts = {}
    for part in text.split(","):
        name, _, amount = map(str.strip, part.partition("="))
        try:
            amounts[name] = float(amount)
        except ValueError:
            amounts[name] = 0.0
        if not name or not 0 < amounts[name] < float("inf"):
            raise InputError(
                "resources are NAME=AMOUNT between commas, above 0", got=text, fix="for example GPU=1,CPU=4"
            )
    return amounts
