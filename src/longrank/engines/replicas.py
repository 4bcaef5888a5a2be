"""Keep functions open on a Ray cluster, by Ray Serve: replicas of each answer many tasks at a time.

    Replicas     deploys the functions, for as long as this process runs
    Handles      asks them; a task whose replica is killed is asked once more

A function is opened once in each replica. Ray Serve replaces killed replicas.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, cast

from longrank.engines.actors import options_of, places, shown, worker_arguments, worker_class
from longrank.engines.connecting import imported, line_of
from longrank.engines.order import result
from longrank.engines.ray import Ray
from longrank.errors import InputError, LongRankError, MissingExtra

_LOG = logging.getLogger("longrank.service.replicas")
_STARTS = 3  # of a replica that fails, before its deployment fails
_SECONDS_TO_STOP = 5.0  # for the tasks in work of a replica that is stopped


class Opened(Protocol):
    """A function that a replica opens; picklable before it is opened."""

    def open(self) -> None:
        """Open models and files."""

    async def __call__(self, task: Any) -> Any:
        """Return the result of a task; may be cancelled."""


@dataclass(frozen=True)
class Wanted:
    """Replicas of a function.

    Attributes:
        function: the function.
        replicas: number of replicas.
        resources: resources of each by Ray's names, ``CPU`` among them.
        at_once: tasks that a replica works on at a time; further tasks wait for a free replica.
    """

    function: Opened
    replicas: int = 1
    resources: Mapping[str, float] = field(default_factory=lambda: {"CPU": 1.0})
    at_once: int = 64


class Lost(LongRankError):
    """The replicas of a task were killed, twice."""


class Handles:
    """Asks replicas.

    Args:
        handles: Ray Serve's handle of each function.
    """

    def __init__(self, handles: Mapping[str, Any]) -> None:
        self._handles, self._errors = handles, imported().exceptions

    async def ask(self, name: str, task: Callable[[], Any], deadline: float) -> Any:
        """Return the result of a task, by the function of this name.

        Args:
            name: name of the function.
            task: makes the task; called once more if the replica is killed.
            deadline: time of `time.monotonic` until which the result is useful. The task is cancelled then, or if the
                caller is cancelled.

        Raises:
            TimeoutError: the deadline passes.
            Lost: two replicas were killed, or no replica can be started.
            Exception: an error of the function.
        """
        try:
            return result(await self._asked(name, task(), deadline))
        except Lost:
            return result(await self._asked(name, task(), deadline))

    async def _asked(self, name: str, task: Any, deadline: float) -> Any:
        from ray.serve.exceptions import RayServeException

        response = self._handles[name].ask.remote(task)
        try:
            async with asyncio.timeout(deadline - time.monotonic()):
                return await response
        except self._errors.RayTaskError as error:  # not the function's, which is returned
            raise LongRankError(f"a replica of '{name}' failed: {line_of(error)}") from error
        except (self._errors.RayError, RayServeException) as error:
            raise Lost(f"the replica of '{name}' was killed ({line_of(error)})") from error
        except (TimeoutError, asyncio.CancelledError):
            response.cancel()
            raise


class Replicas:
    """Replicas of functions on a Ray cluster, while the context is open.

    Args:
        wanted: the functions by name.
        address: the cluster, as of `longrank.engines.ray.Ray`.
        prefix: begins the names of the applications on the cluster; an application that has the name is replaced.

    Raises:
        MissingExtra: Ray Serve is not installed.
        InputError: no cluster there, or no room for the replicas.
    """

    def __init__(self, wanted: Mapping[str, Wanted], address: str, *, prefix: str) -> None:
        self._serve = served()
        self._wanted, self._prefix, self._started = dict(wanted), prefix, False
        n_cpus = sum(one.replicas * one.resources["CPU"] for one in self._wanted.values())
        self._ray = Ray(max(1, math.ceil(n_cpus)), address)
        self._nodes = imported().nodes()
        try:
            self._check_room(n_cpus)
        except BaseException:
            self._ray.__exit__()
            raise

    def start(self) -> Handles:
        """Start the replicas; wait until all are open.

        Raises:
            LongRankError: a replica cannot be started; names the cause.
        """
        self._started = True
        self._serve.start(http_options={"location": "NoServer"})
        targets = [
            self._serve.RunTarget(deployment(name, one), name=self._app(name), route_prefix=None)
            for name, one in self._wanted.items()
        ]
        try:
            handles = self._serve.run_many(targets)
        except RuntimeError as error:
            raise LongRankError(f"a replica cannot be started: {self._fault() or line_of(error)}") from error
        return Handles(dict(zip(self._wanted, handles, strict=True)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Stop the replicas."""
        try:
            for name in self._wanted if self._started else ():
                self._serve.delete(self._app(name), _blocking=False)
        except Exception as problem:  # the cluster has ended, perhaps; what was done before stays done
            _LOG.warning("replicas may be left on the cluster: %s", line_of(problem))
        finally:
            self._ray.__exit__()

    def _app(self, name: str) -> str:
        return safe_name(f"{self._prefix}-{name}")

    def _fault(self) -> str:
        """Return the last line of a deployment's message about its failure."""
        apps = self._serve.status().applications
        messages = [one.message for name in self._wanted for one in apps[self._app(name)].deployments.values()]
        return next((line_of(Exception(message)) for message in messages if "Error" in message), "")

    def _check_room(self, n_cpus: float) -> None:
        for name, one in self._wanted.items():
            if (room := places(self._nodes, one.resources)) < one.replicas:
                fault = f"the Ray cluster has room for {room} of {one.replicas} replicas of '{name}'"
                raise InputError(fault, got=shown(one.resources), fix="use fewer --workers or smaller --resources")
        if (room := places(self._nodes, {"CPU": 1.0})) < n_cpus:
            fix = "use fewer pipelines or --workers, or smaller --resources"
            raise InputError(f"the Ray cluster has {room} CPUs, the replicas take {n_cpus:g}", fix=fix)


def served() -> Any:
    """Return Ray Serve.

    Raises:
        MissingExtra: it is not installed.
    """
    imported()
    try:
        from ray import serve
    except ImportError:
        raise MissingExtra("serving with --engine ray", "ray-serve") from None
    logging.getLogger("ray.serve").setLevel(logging.ERROR)  # the import has set another
    return serve


def safe_name(name: str) -> str:
    """Return a name with letters, digits, points and dashes only; different names stay different."""
    return re.sub(r"[^A-Za-z0-9.-]", lambda match: f"_{ord(match[0]):x}", name)


def deployment(name: str, wanted: Wanted) -> Any:
    """Return Ray Serve's application of a function."""
    return (
        served()
        .deployment(_replica_class())
        .options(
            name=safe_name(name),
            num_replicas=wanted.replicas,
            max_ongoing_requests=wanted.at_once,
            max_constructor_retry_count=_STARTS,
            graceful_shutdown_timeout_s=_SECONDS_TO_STOP,
            ray_actor_options=options_of(wanted.resources),
        )
        .bind(*worker_arguments(wanted.function))
    )


def application(wanted: Mapping[str, Wanted], build: Callable[[Handles], Any], *, at_once: int) -> Any:
    """Return Ray Serve's application of an ASGI application that asks functions; for ``serve deploy``.

    Args:
        wanted: the functions by name, a deployment each.
        build: picklable; returns the ASGI application, in each replica of the deployment ``front``.
        at_once: requests in flight of a replica of ``front``.
    """
    serve, names, packed = served(), list(wanted), imported().cloudpickle.dumps(build)

    def asgi() -> Any:  # pickled by value
        import pickle

        from longrank.engines.replicas import handles_of

        return pickle.loads(packed)(handles_of(names))  # noqa: S301

    front = serve.deployment(serve.ingress(asgi)()).options(name="front", max_ongoing_requests=at_once)
    return front.bind(*(deployment(name, one) for name, one in wanted.items()))


def handles_of(names: Sequence[str]) -> Handles:
    """Return the handles of functions of the application that this replica belongs to."""
    serve = served()
    app = serve.get_replica_context().app_name
    return Handles({name: serve.get_deployment_handle(safe_name(name), app_name=app) for name in names})


def _replica_class() -> type:
    """Return the class of the replicas; it is pickled by value, as `worker_class`."""
    base = worker_class()

    class Replica(base):  # type: ignore[valid-type, misc]
        def __init__(self, function: bytes, versions: dict[str, str], folder: str) -> None:
            if fault := self.open(function, versions, folder):
                raise RuntimeError(fault)
            self._function.open()

        async def ask(self, task: Any) -> Any:
            """Return the result of a task, or the exception that it raised."""
            try:
                return await self._function(task)
            except Exception as error:  # raised again by the caller
                return error

    return cast(type, Replica)
