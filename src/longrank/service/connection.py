"""A connection of uvicorn's that waits for no client longer than the settings say.

silent, or a head that does not end       `header_timeout`, then 408
a body that was answered before its end   `lingering.SECONDS`, then closed
an answer that is not taken               `body_timeout` without a byte, then closed
idle between requests                     `keep_alive`, uvicorn's own
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Literal
from uuid import uuid4

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from longrank.service import lingering
from longrank.service.answers import CLOSE, SECURITY_HEADERS, answer, encoded
from longrank.service.errors import Refusal
from longrank.service.head import head_too_large
from longrank.service.settings import ServiceSettings

_BUFFER = memoryview(bytearray(16_384))
"""Read by read: so little that the smallest chunks of a body, thousands of them, keep nobody waiting for long."""

_TOO_MANY = Refusal(503, "too_many_connections", "too many connections are open", {"Retry-After": "1"})


class Connection(H11Protocol, asyncio.BufferedProtocol):
    """Speaks HTTP/1.1 with one client.

    Args:
        settings: the limits.
        lingering_ones: all connections of the server that are being closed.
        given: what uvicorn gives.
    """

    def __init__(self, settings: ServiceSettings, lingering_ones: set[lingering.Lingering], **given: Any) -> None:
        super().__init__(**given)
        self._settings, self._lingering = settings, lingering_ones
        self._owed: Literal["head", "body"] | None = None  # what the client is to send within a certain time
        self._timer: asyncio.TimerHandle | None = None
        self._reader_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, or refuse at once where too many are open."""
        limit = self._settings.max_connections
        patient: Any = lingering.LingeringTransport(transport, self, self._lingering, limit)
        super().connection_made(patient)
        if len(self.connections) > limit:
            self._refuse(_TOO_MANY)
        else:
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        super().connection_lost(exc)
        for timer in (self._timer, self._reader_timer, self.timeout_keep_alive_task):
            if timer is not None:
                timer.cancel()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return where to read to; one connection reads at a time."""
        return _BUFFER

    def buffer_updated(self, nbytes: int) -> None:
        """Read on."""
        self.data_received(bytes(_BUFFER[:nbytes]))
        self._watch()

    def on_response_complete(self) -> None:
        """Turn to the next request."""
        super().on_response_complete()
        self._watch()

    def shutdown(self) -> None:
        """Close, after the answer that is being made."""
        super().shutdown()
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.default_headers = [*self.cycle.default_headers, *encoded(CLOSE)]

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP; uvicorn calls it where it has caught h11's error."""
        error = sys.exception()
        if isinstance(error, h11.RemoteProtocolError) and error.error_status_hint == 431:
            self._refuse(head_too_large())
        else:
            self._refuse(Refusal(400, "bad_request", f"not HTTP: {str(error).partition(':')[0]}"))

    def pause_writing(self) -> None:
        """Watch a client that does not take its answer."""
        super().pause_writing()
        self._watch_reader(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """The client takes its answer."""
        super().resume_writing()
        if self._reader_timer is not None:
            self._reader_timer.cancel()

    def _watch_reader(self, unsent: int) -> None:
        self._reader_timer = self.loop.call_later(self._settings.body_timeout, self._look_at_reader, unsent)

    def _look_at_reader(self, before: int) -> None:
        unsent = self.transport.get_write_buffer_size()
        if unsent < before:
            self._watch_reader(unsent)
        else:
            self.transport.abort()

    def _watch(self) -> None:
        """Give the client so long for what it owes; a byte now and then gives it no more."""
        owed = None if self.transport.is_closing() else self._owes()
        if owed == self._owed:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._owed = owed
        if owed is not None:
            self._unset_keepalive_if_required()  # it is not idle
            seconds = self._settings.header_timeout if owed == "head" else lingering.SECONDS
            self._timer = self.loop.call_later(seconds, self._late)

    def _owes(self) -> Literal["head", "body"] | None:
        ours, theirs = self.conn.our_state, self.conn.their_state
        if theirs is h11.IDLE and (self.cycle is None or self._owed == "head" or self.conn.trailing_data[0]):
            return "head"
        return "body" if ours is h11.DONE and theirs is h11.SEND_BODY else None

    def _late(self) -> None:
        if self._owed == "head" and self.conn.trailing_data[0]:
            seconds = self._settings.header_timeout
            self._refuse(Refusal(408, "slow", f"the head took more than {seconds:g} seconds to arrive"))
        else:
            self.transport.close()

    def _refuse(self, refusal: Refusal) -> None:
        """Answer without the application, unless an answer is on its way already, and close."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            request_id = uuid4().hex
            written = answer(refusal, "", request_id)
            headers = [*written.headers, *encoded({**SECURITY_HEADERS, **CLOSE, "x-request-id": request_id})]
            for event in (
                h11.Response(status_code=written.status, headers=headers, reason=written.phrase),
                h11.Data(data=written.body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event))
            if self.cycle is not None:
                self.cycle.disconnected = True  # it has no more to say, even if the client has left already
        self.transport.close()
