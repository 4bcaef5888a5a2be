"""uvicorn's HTTP/1.1 connection, with a limit on open connections and on the time between requests."""

from __future__ import annotations

import asyncio
import sys
from typing import Any
from uuid import uuid4

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from longrank.service.errors import CLOSE, Refusal, encoded
from longrank.service.head import SECURITY_HEADERS, head_too_large
from longrank.service.settings import ServiceSettings

_TOO_MANY = Refusal(503, "too_many_connections", "too many connections are open", {"Retry-After": "1"})


class Connection(H11Protocol):
    """A connection that is closed if no whole request head arrives in time.

    The first head has `header_timeout` seconds, a later head `keep_alive` seconds from the last answer. This also
    bounds a body that goes on after its answer, which is discarded.

    Args:
        settings: the limits.
        options: uvicorn's own arguments.
    """

    def __init__(self, settings: ServiceSettings, **options: Any) -> None:
        super().__init__(**options)
        self._settings = settings

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start, or refuse where too many connections are open."""
        super().connection_made(transport)
        if len(self.connections) > self._settings.max_connections:
            self._refuse(_TOO_MANY)
        else:
            seconds = self._settings.header_timeout
            self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def data_received(self, data: bytes) -> None:
        """Read; unlike uvicorn's own method, a few bytes do not stop the timer."""
        self.conn.receive_data(data)
        self.handle_events()

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection unless a request is being answered."""
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are not HTTP; uvicorn calls this method where it has caught h11's error."""
        error = sys.exception()
        if isinstance(error, h11.RemoteProtocolError) and error.error_status_hint == 431:
            self._refuse(head_too_large())
        else:
            self._refuse(Refusal(400, "bad_request", f"not HTTP: {str(error).partition(':')[0]}"))

    def _refuse(self, refusal: Refusal) -> None:
        """Answer without the application, unless an answer has begun, and close."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            request_id = uuid4().hex
            headers, body = refusal.answer("", request_id)
            headers += encoded({**SECURITY_HEADERS, **CLOSE, "x-request-id": request_id})
            for event in (
                h11.Response(status_code=refusal.status, headers=headers),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event))
            if self.cycle is not None:
                self.cycle.disconnected = True  # the application must not answer, too
        self.transport.close()
