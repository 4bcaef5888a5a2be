"""The server in front of a cluster: connections, limits, page and judgments; replicas compute the rankings."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from longrank.engines.replicas import Handles, Lost
from longrank.index import Index
from longrank.scoring import scorer_class
from longrank.service.engine import Engine
from longrank.service.errors import LATE, Refusal
from longrank.service.rankings import Here, Rankings, Search
from longrank.service.replica import Asked, Facts, PipelineReplica, Told
from longrank.service.rerank import Answer, RerankRequest, Service, check_limits, check_query, choose_reranking
from longrank.service.search import choose_searching
from longrank.service.served import Served
from longrank.service.settings import ServiceSettings
from longrank.storage import digest_of
from longrank.types import Notes

_SLACK = 1.0  # seconds for an answer with what is read by the deadline to arrive
_LONGEST_LOAD = 3600.0  # seconds, of the replicas' models


@dataclass(frozen=True, slots=True)
class OnCluster(Served):
    """A pipeline whose replicas are on a cluster.

    Attributes:
        described: its entry of ``/info``.
        identity: of its settings and models (`longrank.service.replica.identity_of`).
    """

    described: Mapping[str, Any] = field(default_factory=dict)
    identity: str = ""

    @property
    def reranks(self) -> bool:
        """True if it reranks texts."""
        return bool(self.described["reranks"])

    def describe(self) -> dict[str, Any]:
        """Return the entry of ``/info``."""
        return {name: value for name, value in self.described.items() if name != "default"}


class FrontEngine(Engine):
    """The pipelines of a server whose replicas are on a cluster; takes the arguments of `Engine`."""

    start: Callable[[], Handles]
    """Starts the replicas; must be set before `load`."""

    name = ""
    """Of the server, if its replicas may be replaced by those of another one."""

    @property
    def pipelines_digest(self) -> str:
        """Digest of the pipelines and their settings."""
        return digest_of([self._names, [str(choice) for choice in self._choices], list(self._assignments)])

    def replicas(self, source: Path | None, settings: ServiceSettings) -> dict[str, PipelineReplica]:
        """Return the function of each pipeline's replicas.

        Args:
            source: the index or store to search; None: none.
            settings: the limits, which hold for each replica; the key stays here.
        """
        limits = replace(settings, key=None)
        return {
            name: PipelineReplica(source, choice._replace(name=name), self._assignments, limits, self.name)
            for name, choice in zip(self._names, self._choices, strict=True)
        }

    def has_network(self, name: str) -> bool:
        """Tell whether a pipeline reads passages with a network."""
        scorer = self._settings[self._names.index(name)].scorer
        return scorer is not None and scorer_class(scorer.name).needs_model

    def load(self) -> None:
        """Start the replicas, and ask each pipeline for its facts.

        Raises:
            LongRankError: a replica cannot be started.
        """
        self.handles = self.start()
        self._state = (self.index, asyncio.run(self._facts(self.handles)))

    def exchange(self, index: Index) -> Notes:
        """Let new requests for documents use another snapshot of the index; the replicas follow it by themselves."""
        self._state = (index, self._state[1])
        return Notes()

    async def _facts(self, handles: Handles) -> dict[str, Served]:
        served: dict[str, Served] = {}
        for name, choice, settings in zip(self._names, self._choices, self._settings, strict=True):
            told = await handles.ask(name, lambda: Asked(self.name, None), time.monotonic() + _LONGEST_LOAD)
            facts = cast(Facts, _value(told))
            self._notes.merge(facts.notes)
            served[name] = OnCluster(
                name, settings, choice.model, None, None, 1.0, described=facts.described, identity=told.identity
            )
        return served


class There:
    """Answers rankings by the replicas on a cluster; follows `longrank.service.rankings.Rankings`.

    Args:
        service: this server.
        engine: its pipelines.
    """

    def __init__(self, service: Service, engine: FrontEngine) -> None:
        self._service, self._engine = service, engine

    async def search(self, asked: Search, deadline: float, by: float | None = None) -> dict[str, Any]:
        """Answer a search, as `Rankings.search`.

        Raises:
            Refusal: 503, two replicas were killed, or a replica has other settings or models.
        """
        began = time.monotonic()
        name = choose_searching(self._service, asked.pipeline).name
        check_query(self._service.settings, asked.query)
        reply: dict[str, Any] = await self._ask(name, replace(asked, pipeline=name), deadline, by)
        return reply | {"took_ms": round(1000 * (time.monotonic() - began), 1)}

    async def rerank(self, asked: RerankRequest, deadline: float, by: float | None = None) -> Answer:
        """Answer a reranking, as `Rankings.rerank`.

        Raises:
            Refusal: 503, two replicas were killed, or a replica has other settings or models.
        """
        served, warnings = choose_reranking(self._service.engine, asked.model)
        check_limits(self._service.settings, asked)
        named = replace(asked, model=served.name, warnings=[*warnings, *asked.warnings])
        return cast(Answer, await self._ask(served.name, named, deadline, by))

    async def _ask(self, name: str, ranking: Search | RerankRequest, deadline: float, by: float | None) -> Any:
        def task() -> Asked:
            now = time.monotonic()
            return Asked(self._engine.name, ranking, deadline - now, None if by is None else by - now)

        with self._service.admission.admit(0, deadline):
            try:
                told: Told = await self._engine.handles.ask(name, task, deadline if by is None else deadline + _SLACK)
            except TimeoutError:
                raise Refusal(504, LATE, "the deadline passed before the ranking was computed") from None
            except Lost:
                fault = f"two replicas of '{name}' were killed while they computed the ranking; try again"
                raise Refusal(503, "lost", fault, {"Retry-After": "1"}) from None
        told.counts.add_to(self._service.metrics)
        if told.identity != cast(OnCluster, self._engine.served(name)).identity:
            fault = f"a replica of '{name}' has read other settings or models than the server: start the server again"
            raise Refusal(503, "lost", fault)
        return _value(told)


def rankings_of(service: Service) -> Rankings:
    """Return the rankings of a server: by its replicas, or by the server itself."""
    return There(service, service.engine) if isinstance(service.engine, FrontEngine) else Here(service)


def _value(told: Told) -> Any:
    if isinstance(told.result, Exception):
        raise told.result
    return told.result
