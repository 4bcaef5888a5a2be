"""The whole server as an application of Ray Serve, for ``serve deploy`` (``deploy/ray/serve.yaml``).

Deployment ``front``: the HTTP application; Ray Serve has the connections
Deployments with the names of pipelines: their replicas
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from longrank.engines.replicas import Handles, application
from longrank.errors import InputError, LongRankError
from longrank.service.admission import Admission
from longrank.service.app import create_app
from longrank.service.cluster import Cluster, wanted
from longrank.service.errors import Refusal
from longrank.service.front import FrontEngine
from longrank.service.log import log_to
from longrank.service.metrics import Metrics
from longrank.service.opening import open_engine
from longrank.service.reloading import Reloader
from longrank.service.rerank import Service
from longrank.service.scheduler import Scheduler
from longrank.service.served import PipelineChoice
from longrank.service.settings import ServiceSettings, is_key
from longrank.service.transport import Transport
from longrank.small_files import MIB, read_small
from longrank.types import Notes

_LOG = logging.getLogger("longrank.service.ingress")


class Arguments(BaseModel):
    """The arguments of the application; paths are those of every node."""

    model_config = ConfigDict(extra="forbid")

    index: Path | None = Field(None, description="Index to search; none: the server only reranks texts.")
    pipelines: list[str] = Field(min_length=1, description="NAME[=MODEL], as of longrank serve --pipeline.")
    assignments: list[str] = Field([], description="section.key=value, as of longrank serve --set.")
    replicas: int = Field(1, ge=1, description="Replicas of each pipeline.")
    resources: dict[str, float] = Field({}, description="Resources of each replica of a pipeline with a network.")
    key_file: Path | None = Field(None, description="File with the key that clients send.")
    insecure: bool = Field(False, description="Serve without a key.")
    allowed_hosts: list[str] = Field(
        ["localhost", "127.0.0.1"], description="Names in Host that clients may use; *: any."
    )
    max_requests: int = Field(64, ge=1, description="Rankings in flight of a replica; more get 429.")
    deadline: float = Field(30.0, gt=0, description="Seconds for an answer.")


def build(arguments: Arguments | Mapping[str, Any]) -> Any:
    """Return Ray Serve's application.

    Args:
        arguments: the arguments, or their JSON values.

    Raises:
        ValidationError: values that are not `Arguments`.
        InputError: no key, a key that no header can hold, or as `open_engine`.
    """
    arguments = Arguments.model_validate(arguments)
    if arguments.key_file is None and not arguments.insecure:
        raise InputError("other machines could use the server without a key", fix="give key_file, or insecure: true")
    cluster = Cluster("", arguments.replicas, arguments.resources)
    settings = _settings(arguments)
    replicas = wanted(_engine(arguments), cluster, arguments.index, settings)
    return application(replicas, partial(front, arguments), at_once=settings.max_connections)


def front(arguments: Arguments, handles: Handles) -> Any:
    """Return the ASGI application of a replica of ``front``; it is ready when it knows the pipelines."""
    log_to(sys.stderr)
    engine, settings = _engine(arguments), _settings(arguments)
    engine.start = lambda: handles
    metrics = Metrics()
    scheduler = Scheduler(batch_tokens=settings.batch_tokens)  # without jobs
    service = Service(engine, settings, Admission(settings, scheduler, metrics), scheduler, metrics)
    threading.Thread(target=_load, args=(engine,), name="longrank-load", daemon=True).start()
    return _Living(create_app(service))


class _Living:
    """An application that answers the events of a server's life, which Ray Serve sends."""

    def __init__(self, app: Transport) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or the events."""
        if scope["type"] != "lifespan":
            await self._app(scope, receive, send)
            return
        for event in ("startup", "shutdown"):
            await receive()
            if event == "shutdown":
                self._app.stop()
            await send({"type": f"lifespan.{event}.complete"})


def _load(engine: FrontEngine) -> None:
    try:
        engine.load()
    except (LongRankError, Refusal) as error:
        _LOG.error("the pipelines cannot be asked: %s", error)
        return
    Reloader(engine, None).start()


def _engine(arguments: Arguments) -> FrontEngine:
    parts = (pipeline.partition("=") for pipeline in arguments.pipelines)
    choices = [PipelineChoice(name, model or None) for name, _, model in parts]
    return open_engine(FrontEngine, arguments.index, choices, arguments.assignments, Notes())


def _settings(arguments: Arguments) -> ServiceSettings:
    return ServiceSettings(
        key=None if arguments.key_file is None else key_of(arguments.key_file),
        allowed_hosts=tuple(name.lower() for name in arguments.allowed_hosts),
        max_requests=arguments.max_requests,
        deadline=arguments.deadline,
    )


def key_of(path: Path) -> str:
    """Return the key of a file; errors never show it.

    Raises:
        InputError: the key is empty, or a header cannot hold it.
    """
    key = read_small(path, MIB, "keys").decode("utf-8", "replace").rstrip("\r\n")
    if not is_key(key):
        raise InputError("the key must be visible ASCII characters without blanks", path=path)
    return key
