"""The ASGI application around the routes: checks of requests, bounded bodies, security headers, the log.

head -> request id, host, key -> route -> type, size, room -> body, read whole -> application -> answer, log line

A `Refusal` that is raised anywhere on the way becomes an answer here.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
import traceback
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.routing import Match

from longrank.errors import LongRankError, printable
from longrank.service.errors import CLOSE, Refusal, encoded, stopping
from longrank.service.head import (
    SECURITY_HEADERS,
    check_body_head,
    check_host,
    check_key,
    check_size,
    is_probe,
    needs_key,
    request_id,
    too_large,
)
from longrank.service.settings import ServiceSettings

if TYPE_CHECKING:
    from longrank.service.admission import Admission
    from longrank.service.metrics import Metrics

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

_DISCARD_SECONDS = 5.0
_SECURITY_HEADERS = encoded(SECURITY_HEADERS)
_logger = logging.getLogger("longrank.service")


class ClientGone(Exception):
    """The client has closed the connection before its answer."""


class Exchange:
    """One request and its answer.

    Attributes:
        path: path of the request.
        headers: headers of the request.
        id: id of the request, in the log and in the answer.
        status: status of the answer; 499 before an answer has begun.
        code: reason of a refusal, or empty.
        complete: True when the answer has been sent.
        arrival: time of `time.monotonic` when the head was read.
        unread: True while a part of the body may still arrive.
    """

    def __init__(self, scope: MutableMapping[str, Any], send: Send) -> None:
        self.path, self.headers, self._send = scope["path"], Headers(scope=scope), send
        self.id = request_id(self.headers)
        self.status, self.code = 499, ""
        self.complete = False
        self.unread = "content-length" in self.headers or "transfer-encoding" in self.headers
        self.arrival = time.monotonic()

    @property
    def begun(self) -> bool:
        """True if an answer has begun."""
        return self.status != 499

    async def send(self, message: Message) -> None:
        """Send a part of the application's answer; Starlette's own 500 is left out, `refuse` sends ours."""
        if message["type"] == "http.response.start":
            if message["status"] != 500:
                await self._start(message["status"], list(message.get("headers", ())))
        elif self.begun:
            await self._send(message)
            self.complete = not message.get("more_body")

    async def refuse(self, refusal: Refusal) -> None:
        """Answer with a refusal, unless an answer has begun."""
        if not self.begun:
            headers, body = refusal.answer(self.path, self.id)
            self.code = refusal.code
            await self._start(refusal.status, headers)
            await self._send({"type": "http.response.body", "body": body})
            self.complete = True

    async def _start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        self.status = status
        headers = [*headers, *_SECURITY_HEADERS, (b"x-request-id", self.id.encode())]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})


class Transport:
    """The ASGI application that a server serves: checks around `app`.

    Args:
        app: answers requests that have passed all checks.
        settings: the limits.
        admission: refuses rankings under overload.
        metrics: counts answers and refusals.
    """

    def __init__(
        self,
        app: Starlette,
        settings: ServiceSettings,
        admission: Admission | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self.app, self.settings, self.admission, self.metrics = app, settings, admission, metrics
        self.stopping = False
        self._received = 0  # bytes of all bodies that are arriving
        self._key = None if settings.key is None else hashlib.sha256(settings.key.encode()).digest()

    def stop(self) -> None:
        """Make ``/ready`` fail from now on; other requests are still answered."""
        self.stopping = True

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise RuntimeError(f"{scope['type']} is not supported")
        exchange = Exchange(scope, send)
        try:
            await self._answer(exchange, scope, receive)
            if not exchange.begun:
                raise RuntimeError("the application has not answered")
        except Refusal as refusal:
            closes = "close" in exchange.headers.get("connection", "").lower()
            if exchange.unread and closes and refusal.status != 408:
                await _discard(receive)
            await exchange.refuse(refusal)
        except ClientGone:  # the log line says 499
            pass
        except asyncio.CancelledError:  # only the server's end cancels requests
            await exchange.refuse(stopping())
        except Exception as error:
            _logger.error("%s failed: %s", exchange.id, _described(error))
            await exchange.refuse(Refusal(500, "internal", "an error inside the server; see its log"))
        finally:
            self._record(exchange, scope)

    async def _answer(self, exchange: Exchange, scope: dict[str, Any], receive: Receive) -> None:
        path, headers, settings = exchange.path, exchange.headers, self.settings
        check_size(scope)
        if not is_probe(path):
            check_host(headers, settings.allowed_hosts)
        if self._key is not None and needs_key(path):
            check_key(headers, self._key)
        if path == "/ready" and self.stopping:
            raise stopping()
        state = {**scope.get("state", {}), "request_id": exchange.id, "arrival": exchange.arrival}
        # uvicorn leaves out the body of an answer to HEAD.
        inner = {**scope, "state": state, "method": "GET" if scope["method"] == "HEAD" else scope["method"]}
        body = b""
        if scope["method"] == "POST" and self._is_served(inner):
            check_body_head(headers, settings.max_body_bytes)
            if self.admission is not None:
                self.admission.refuse_if_full()
            body = await self._body(receive)
            exchange.unread = False
        await _run(self.app, inner, body, receive, exchange)

    def _is_served(self, scope: dict[str, Any]) -> bool:
        """Return True if a route takes this path and method; else the application answers 404 or 405."""
        return any(route.matches(dict(scope))[0] is Match.FULL for route in self.app.routes)

    async def _body(self, receive: Receive) -> bytes:
        """Return a request's body.

        Raises:
            Refusal: 413, too large; 408, too slow; 503, too many bytes are arriving at once.
            ClientGone: before the end of the body.
        """
        body = bytearray()
        try:
            async with asyncio.timeout(self.settings.body_timeout):
                await self._receive(receive, body)
            return bytes(body)
        except TimeoutError:
            fault = f"the body took more than {self.settings.body_timeout:g} seconds to arrive"
            raise Refusal(408, "slow", fault, CLOSE) from None
        finally:
            self._received -= len(body)

    async def _receive(self, receive: Receive, body: bytearray) -> None:
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            body += message["body"]
            self._received += len(message["body"])
            if len(body) > self.settings.max_body_bytes:
                raise too_large(self.settings.max_body_bytes)
            if self._received > self.settings.max_buffered_bytes:
                raise Refusal(503, "overloaded", "too many bytes are arriving at once", {"Retry-After": "1"})
            more = message["more_body"]

    def _record(self, exchange: Exchange, scope: dict[str, Any]) -> None:
        seconds, (client, *_) = time.monotonic() - exchange.arrival, scope.get("client") or ("-",)
        if self.metrics is not None:
            self.metrics.answered(exchange.path, exchange.status, seconds)
            if exchange.code:
                self.metrics.refused(exchange.code)
        fields = (client, scope["method"], exchange.path[:200], exchange.status, exchange.code)
        line = (*fields, f"{1000 * seconds:.0f} ms", exchange.id)
        _logger.info("%s", " ".join(printable(str(field)) for field in line if field != ""))


def request_id_of(scope: Any) -> str:
    """Return the id of the request that an application answers."""
    return str(scope["state"]["request_id"])


def arrival_of(scope: Any) -> float:
    """Return the time of `time.monotonic` when the head of the request was read."""
    return float(scope["state"]["arrival"])


async def _run(app: Starlette, scope: dict[str, Any], body: bytes, receive: Receive, exchange: Exchange) -> None:
    """Let the application answer; it is cancelled when the client leaves before the answer is complete.

    Raises:
        ClientGone: the client has left.
        Exception: the application's.
    """
    gone = asyncio.ensure_future(_disconnect(receive))
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await asyncio.shield(gone)

    work = asyncio.ensure_future(app(scope, replay, exchange.send))
    try:
        await asyncio.wait({gone, work}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done() and not exchange.complete:
            raise ClientGone
        await work  # after a complete answer `receive` says disconnect, too
    finally:
        gone.cancel()
        work.cancel()
        await asyncio.gather(gone, work, return_exceptions=True)


async def _disconnect(receive: Receive) -> Message:
    while (message := await receive())["type"] != "http.disconnect":
        pass
    return message


async def _discard(receive: Receive) -> None:
    """Read the rest of a body: a connection that is closed before would be reset, and the answer lost."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_DISCARD_SECONDS):
            while (await receive()).get("more_body"):
                pass


def _described(error: Exception) -> str:
    """Return the error and the place that raised it, on one line of the log.

    Messages of other libraries are left out: they may quote the key or the query.
    """
    message = f": {str(error)[:200]}" if isinstance(error, LongRankError | OSError) else ""
    frames = traceback.extract_tb(error.__traceback__)[-5:]
    places = " < ".join(f"{frame.name} {frame.filename}:{frame.lineno}" for frame in reversed(frames))
    return printable(f"{type(error).__name__}{message} in {places}")[:1900]
