"""Reading bodies: each in time and bounded, and all of them together bounded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from longrank.service.answers import CLOSE
from longrank.service.errors import Refusal
from longrank.service.head import too_large
from longrank.service.settings import ServiceSettings

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]


class ClientGone(Exception):
    """The client has closed the connection: nobody reads an answer."""


class Bodies:
    """Reads the bodies of all requests of a server."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._held = 0

    async def read(self, receive: Receive) -> bytes:
        """Return a request's body; what is refused is let go at once.

        Raises:
            Refusal: 413, too large; 408, too slow; 503, too much is being received at a time.
            ClientGone: before the body was complete.
        """
        body = bytearray()
        try:
            async with asyncio.timeout(self._settings.body_timeout):
                await self._receive_all(receive, body)
            return bytes(body)
        except TimeoutError:
            what = f"the body took more than {self._settings.body_timeout:g} seconds to arrive"
            raise Refusal(408, "slow", what, CLOSE) from None
        finally:
            self._held -= len(body)

    async def _receive_all(self, receive: Receive, body: bytearray) -> None:
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            body += message["body"]
            self._held += len(message["body"])
            if len(body) > self._settings.max_body_bytes:
                raise too_large(self._settings.max_body_bytes)
            if self._held > self._settings.max_buffered_bytes:
                raise Refusal(503, "overloaded", "too much is being received at once", {"Retry-After": "1", **CLOSE})
            more = message["more_body"]
