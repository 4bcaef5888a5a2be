"""A server from its first breath to its last.

bound -> /health answers, models load beside -> ready -> a signal -> what is in flight is completed -> closed

A second signal, or `drain` seconds, end what is still in flight with 503.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import uvicorn

from longrank.service.connection import Connection
from longrank.service.head import MAX_HEAD_BYTES
from longrank.service.lingering import Lingering
from longrank.service.listening import allow_open_files, bind, url_of
from longrank.service.settings import ServiceSettings
from longrank.service.transport import Transport

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LOOK = 0.02  # seconds between looks at what is in flight
_LAST_ANSWERS = 2.0  # seconds for answers to be taken by clients at the very end


async def _nothing() -> None:
    pass


def serve(
    app: Transport,
    settings: ServiceSettings,
    *,
    load: Callable[[], None],
    say: Callable[[str], None],
    close: Callable[[], Awaitable[None]] = _nothing,
) -> int:
    """Serve until a signal comes; in the main thread of a process that has nothing else to do.

    Args:
        app: what is served.
        settings: the limits.
        load: makes the application ready; runs in a thread of its own after the address is bound.
        say: told ``listening on URL``, then ``ready``.
        close: ends what works for the application, after the last answer.

    Returns:
        0; 1 if requests had to be ended before their answer.

    Raises:
        InputError: the address cannot be listened on.
        Exception: `load` fails.
    """
    allow_open_files(settings.max_connections)
    listener = bind(settings)
    server = _Server(app, settings, load, say, close)
    asyncio.run(server.serve(sockets=[listener]))
    if server.failure is not None:
        raise server.failure
    return 1 if server.cut_short else 0


class _Server(uvicorn.Server):
    """uvicorn's server with our connections, and an end that loses no answer."""

    def __init__(
        self,
        app: Transport,
        settings: ServiceSettings,
        load: Callable[[], None],
        say: Callable[[str], None],
        close: Callable[[], Awaitable[None]],
    ) -> None:
        self._app, self._settings, self._load, self._say, self._close = app, settings, load, say, close
        self._lingering: set[Lingering] = set()
        self._signals = 0
        self.failure: BaseException | None = None
        self.cut_short = False
        http: Any = partial(Connection, settings, self._lingering)
        super().__init__(
            uvicorn.Config(
                app,
                http=http,
                ws="none",
                loop="asyncio",
                lifespan="off",
                interface="asgi3",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=settings.keep_alive,  # type: ignore[arg-type]
                h11_max_incomplete_event_size=MAX_HEAD_BYTES - 1,
            )
        )

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let signals end the server, and nothing else, until the process has ended."""
        loop = asyncio.get_running_loop()
        for one in _SIGNALS:
            signal.signal(one, lambda *_: loop.call_soon_threadsafe(self._stop))
        try:
            yield
        finally:
            for one in _SIGNALS:
                signal.signal(one, signal.SIG_IGN)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and load the models."""
        await super().startup(sockets)
        for listener in sockets or ():
            self._say(f"listening on {url_of(listener)}")
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._load_in, args=(loop,), name="longrank-load", daemon=True).start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take nothing more, complete what is in flight."""
        until = time.monotonic() + self._settings.drain
        for listening in self.servers:
            listening.close()
        for listener in sockets or ():
            listener.close()
        await asyncio.sleep(_LOOK)  # in which what has arrived is read
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await self._until(lambda: self._all_is_sent() or self._signals > 1, until)
        if self._n_in_flight:
            self.cut_short = True
            for task in list(self.server_state.tasks):
                task.cancel()
        await self._until(self._all_is_sent, time.monotonic() + _LAST_ANSWERS)
        if not self.cut_short:
            await self._until_closed(until)

    @property
    def _n_in_flight(self) -> int:
        return len(self.server_state.tasks)

    def _all_is_sent(self) -> bool:
        return self._n_in_flight == 0 and not any(one.unsent for one in self._lingering)

    async def _until(self, done: Callable[[], bool], when: float) -> None:
        while not done() and time.monotonic() < when:
            await asyncio.sleep(_LOOK)

    async def _until_closed(self, until: float) -> None:
        closing = asyncio.ensure_future(self._close())
        await self._until(lambda: closing.done() or self._signals > 1, until)
        closing.cancel()

    def _stop(self) -> None:
        self._signals += 1
        self._app.stop()
        self.should_exit = True

    def _load_in(self, loop: asyncio.AbstractEventLoop) -> None:
        """Load, in a thread."""
        try:
            self._load()
            told = partial(self._say, "ready")
        except BaseException as error:  # it is raised again where the server was started
            told = partial(self._fail, error)
        with suppress(RuntimeError):  # the loop is closed: the server has been stopped meanwhile
            loop.call_soon_threadsafe(told)

    def _fail(self, error: BaseException) -> None:
        self.failure = error
        self.should_exit = True
