"""The replicas of a server's pipelines on a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from longrank.engines import ENGINES, EngineOptions, parsed_resources
from longrank.engines.replicas import Replicas, Wanted, served
from longrank.errors import InputError
from longrank.registries import check_at_least, lookup
from longrank.service.engine import Engine
from longrank.service.front import FrontEngine
from longrank.service.settings import ServiceSettings
from longrank.storage import digest_of


class Cluster(NamedTuple):
    """Address of a cluster, replicas of each pipeline, and the resources of each replica of one with a network."""

    address: str
    replicas: int
    resources: Mapping[str, float]


def cluster_of(options: EngineOptions) -> Cluster | None:
    """Return the cluster of the options of an engine; None: rankings are computed in this process.

    Raises:
        InputError: an unknown engine, or options that it does not take.
        MissingExtra: Ray Serve is not installed.
    """
    name, _, address = str(options.engine or "local").partition("=")
    lookup(ENGINES, name, "engine")
    if name == "local":
        if address or options.workers is not None or options.resources is not None:
            raise InputError("the engine local takes no address, workers or resources", fix="--engine ray takes them")
        return None
    served()
    replicas = 1 if options.workers is None else options.workers
    check_at_least("workers", replicas, 1)
    given = options.resources or {}
    return Cluster(address, replicas, parsed_resources(given) if isinstance(given, str) else given)


@contextmanager
def computing(
    engine: Engine, cluster: Cluster | None, source: Path | None, settings: ServiceSettings
) -> Iterator[None]:
    """Compute the rankings of a server on a cluster while the context is open; its engine starts the replicas.

    Args:
        engine: its pipelines: a `FrontEngine`, if there is a cluster.
        cluster: the cluster; None: nothing is done.
        source: the index or store that is searched; None: none.
        settings: the limits.

    Raises:
        InputError: no such cluster, or no room on it.
    """
    if cluster is None or not isinstance(engine, FrontEngine):
        yield
        return
    engine.name = uuid4().hex
    # Indexes may share a name; servers of texts alone have none, so those of other pipelines are others.
    place = engine.pipelines_digest if source is None else digest_of(str(source.absolute()))
    prefix = f"longrank-{engine.index_name or 'texts'}-{place[:6]}"
    with Replicas(wanted(engine, cluster, source, settings), cluster.address, prefix=prefix) as replicas:
        engine.start = replicas.start
        yield


def wanted(engine: FrontEngine, cluster: Cluster, source: Path | None, settings: ServiceSettings) -> dict[str, Wanted]:
    """Return the replicas of each pipeline; a pipeline without a network takes one CPU and no other resource."""
    return {
        name: Wanted(
            replica,
            cluster.replicas,
            {"CPU": 1.0, **(cluster.resources if engine.has_network(name) else {})},
            settings.max_requests,
        )
        for name, replica in engine.replicas(source, settings).items()
    }
