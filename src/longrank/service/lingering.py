"""Closing a connection so that the client can read the answer first.

A socket that is closed while the client still sends is reset, and the reset may overtake the answer. So: say that
nothing more comes, and throw away what the client sends, until it closes as well or `SECONDS` have passed
(RFC 9112, section 9.6).
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

SECONDS = 5.0


class Lingering(asyncio.Protocol):
    """Takes over a connection that is to be closed.

    Args:
        transport: the connection.
        others: all that linger; this one is among them until it is closed.
    """

    def __init__(self, transport: asyncio.Transport, others: set[Lingering]) -> None:
        self._transport, self._others = transport, others
        self._loop = asyncio.get_running_loop()
        others.add(self)
        transport.set_protocol(self)
        transport.resume_reading()
        with suppress(OSError):  # the client has reset the connection already
            transport.write_eof()
        self._wait()

    @property
    def unsent(self) -> int:
        """Bytes of the answer that the client has not taken yet."""
        return self._transport.get_write_buffer_size()

    def _wait(self) -> None:
        self._timer = self._loop.call_later(SECONDS, self._late, self.unsent)

    def _late(self, unsent: int) -> None:
        """Give up, unless the client still reads."""
        if 0 < self.unsent < unsent:
            self._wait()
        else:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Be gone."""
        self._timer.cancel()
        self._others.discard(self)


class LingeringTransport:
    """A connection's transport whose `close` lingers.

    Args:
        transport: the real one.
        owner: the protocol that has it until then; it is told at once that the connection is lost.
        others: all that linger.
        most: how many may.
    """

    def __init__(
        self, transport: asyncio.Transport, owner: asyncio.Protocol, others: set[Lingering], most: int
    ) -> None:
        self._transport, self._owner, self._others, self._most = transport, owner, others, most
        self._closed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Whether it is closed, or about to be."""
        return self._closed or self._transport.is_closing()

    def close(self) -> None:
        """Close, with patience."""
        if self.is_closing():
            return
        self._closed = True
        if len(self._others) < self._most:
            Lingering(self._transport, self._others)
            self._owner.connection_lost(None)
        else:
            self._transport.close()
