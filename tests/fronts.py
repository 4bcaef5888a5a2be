"""Servers in front of replicas, and the same servers without, for requests whose answers must be equal."""

from __future__ import annotations

import asyncio
import pickle
import random
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from collections_of_words import random_documents
from longrank.index import Index
from longrank.service.engine import Engine
from longrank.service.front import FrontEngine
from longrank.service.opening import open_engine
from longrank.service.replica import PipelineReplica
from longrank.service.served import PipelineChoice
from longrank.service.settings import ServiceSettings
from longrank.types import Notes
from served import Ask, Reply, answers, opened

CHOICES = (PipelineChoice("lexical"), PipelineChoice("bm25"), PipelineChoice("rm3"))
SET = ("passages.options={length=10, stride=5}", "final.depth=20")
PATIENT = ServiceSettings(deadline=600.0, drain=600.0, max_wait=600.0)  # on a busy machine everything takes minutes
VARYING = ("request_id", "took_ms", "id")


class InProcess:
    """Replicas in this process that see only what a cluster carries; has the methods of `Handles`."""

    def __init__(self, replicas: Mapping[str, PipelineReplica]) -> None:
        self.replicas = {name: carried(replica) for name, replica in replicas.items()}
        for replica in self.replicas.values():
            replica.open()

    async def ask(self, name: str, task: Callable[[], Any], deadline: float) -> Any:
        async with asyncio.timeout(deadline - time.monotonic()):
            return carried(await self.replicas[name](carried(task())))


def carried(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def indexed(folder: Path) -> Path:
    """Write an index of three shards of random documents with metadata."""
    rows = [
        {
            "doc_id": one.doc_id,
            "title": one.title,
            "text": one.text,
            "year": 2000 + n % 9,
            "lang": "en" if n % 2 else "de",
        }
        for n, one in enumerate(random_documents(300, mean_words=60))
    ]
    Index.build(rows, folder, shards=3)
    return folder


def both(
    source: Path | None, choices: Sequence[PipelineChoice] = CHOICES, settings: ServiceSettings | None = None
) -> tuple[Engine, FrontEngine]:
    """Return a loaded engine, and one whose replicas are in this process."""
    here = open_engine(Engine, source, choices, SET, Notes())
    here.load()
    front = open_engine(FrontEngine, source, choices, SET, Notes())
    front.start = lambda: InProcess(front.replicas(source, settings or PATIENT))  # type: ignore[assignment,return-value]
    front.load()
    return here, front


def searches(n: int, names: Sequence[str], seed: int = 5) -> list[dict[str, Any]]:
    """Return random bodies of searches."""
    rng = random.Random(seed)
    return [
        {
            "query": " ".join("".join(rng.choices("abcd", k=rng.randint(1, 2))) for _ in range(rng.randint(1, 6))),
            "pipeline": rng.choice([None, *names]),
            "k": rng.choice((1, 5, 30)),
            "passages": rng.randint(0, 3),
            **rng.choice(({}, {"filter": {"year": {"$gte": 2004}}}, {"show": ["lang"], "facets": ["year"]})),
        }
        for _ in range(n)
    ]


def replies(engine: Engine, requests: Sequence[tuple[Any, ...]], settings: ServiceSettings | None = None) -> list[Any]:
    """Return (status, body without what differs in every answer) of each request, one after another."""

    async def talk(ask: Ask) -> list[Reply]:
        return [await ask(*request) for request in requests]

    return [(one.status, lasting(one.json)) for one in answers(opened(engine, settings or PATIENT), talk)]


def lasting(body: Any) -> Any:
    return {key: value for key, value in body.items() if key not in VARYING} if isinstance(body, dict) else body
