"""The server's application in this process, without a socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fakes import index_of
from longrank.service.admission import Admission
from longrank.service.engine import Engine
from longrank.service.judging import Judging
from longrank.service.metrics import Metrics
from longrank.service.rerank import Service
from longrank.service.scheduler import Scheduler
from longrank.service.served import PipelineChoice
from longrank.service.settings import ServiceSettings
from longrank.types import Document, Notes

FILLER = "moon tide chain wheel light house bread stone river salt"
FOX = f"{FILLER} 😀 the fox {FILLER} foxes: the Fox's FOX {FILLER}"
DOCUMENTS = [Document("d", "a title", FOX), Document("e", "", FILLER), Document("f", "<b>", "a fox & a moon")]
SET = ("passages.options={length=10, stride=10}",)


class Reply(NamedTuple):
    """An answer: status, headers by lower-case names, body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body's value."""
        return json.loads(self.body)


def desk_of(
    folder: Path,
    *wanted: PipelineChoice,
    settings: ServiceSettings | None = None,
    indexed: bool = True,
    load: bool = True,
) -> Service:
    """Return a desk that serves `wanted` (`lexical` and `bm25` if nothing is) over `DOCUMENTS`."""
    settings = settings or ServiceSettings()
    folder.mkdir(parents=True, exist_ok=True)
    index = index_of(DOCUMENTS, folder / "served") if indexed else None
    engine = Engine(
        wanted or (PipelineChoice("lexical"), PipelineChoice("bm25")), index, assignments=SET, notes=Notes()
    )
    if load:
        engine.load()
    return opened(engine, settings)


def opened(engine: Engine, settings: ServiceSettings | None = None, judging: Judging | None = None) -> Service:
    """Return a new desk, whose scheduler has never been closed, for what is loaded already."""
    settings = settings or ServiceSettings()
    metrics = Metrics()
    scheduler = Scheduler(batch_tokens=settings.batch_tokens, metrics=metrics)
    return Service(engine, settings, Admission(settings, scheduler, metrics), scheduler, metrics, judging)


Ask = Callable[..., Awaitable[Reply]]


def answers(desk: Service, talk: Callable[[Ask], Awaitable[Any]]) -> Any:
    """Run `talk` with ``ask(method, path, value=None, headers={}, leaves=None, takes=0.0)`` and return its result.

    ``leaves`` is an event after which the client is gone, ``takes`` the seconds that the body is on its way.
    """
    from longrank.service.app import create_app

    async def run() -> Any:
        app = create_app(desk)
        desk.scheduler.start()

        async def ask(
            method: str,
            path: str,
            value: Any = None,
            headers: Mapping[str, str] | None = None,
            leaves: asyncio.Event | None = None,
            takes: float = 0.0,
        ) -> Reply:
            return await asked(app, head(method, path, value, headers or {}), leaves, takes)

        try:
            return await talk(ask)
        finally:
            await desk.scheduler.close()

    return asyncio.run(run())


def head(method: str, path: str, value: Any, headers: Mapping[str, str]) -> tuple[dict[str, Any], bytes]:
    """Return a request's scope and body."""
    body = value if isinstance(value, bytes) else b"" if value is None else json.dumps(value).encode()
    named = {"host": "localhost", "content-type": "application/json", "content-length": str(len(body)), **headers}
    path, _, query = path.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), text.encode()) for name, text in named.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8330),
        "state": {},
    }, body


def ask_once(desk: Service, *request: Any, **more: Any) -> Reply:
    """Return what a new desk with the models and settings of `desk` answers to a request."""

    async def talk(ask: Ask) -> Reply:
        reply: Reply = await ask(*request, **more)
        return reply

    reply: Reply = answers(opened(desk.engine, desk.settings), talk)
    return reply


async def asked(app: Any, request: tuple[dict[str, Any], bytes], leaves: asyncio.Event | None, takes: float) -> Reply:
    """Return what an application answers to a request."""
    scope, body = request
    sent: list[dict[str, Any]] = []
    given = False

    async def receive() -> dict[str, Any]:
        nonlocal given
        if not given:
            given = True
            await asyncio.sleep(takes)
            return {"type": "http.request", "body": body, "more_body": False}
        await (leaves or asyncio.Event()).wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start = next(one for one in sent if one["type"] == "http.response.start")
    names = {name.decode().lower(): text.decode() for name, text in start["headers"]}
    return Reply(start["status"], names, b"".join(one.get("body", b"") for one in sent))
