"""Actors of a Ray cluster: what they run, the resources that each holds, and how many fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from longrank.engines.connecting import imported
from longrank.engines.versions import installed


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


def places(nodes: Iterable[Mapping[str, Any]], resources: Mapping[str, float]) -> int:
    """Return the number of actors for which living nodes have the resources, in use or not."""
    return sum(
        min(int(node["Resources"].get(name, 0) // amount) for name, amount in resources.items())
        for node in nodes
        if node["Alive"]
    )
