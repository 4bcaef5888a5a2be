"""Start, run and shut down the HTTP server.

bound -> /health answers while models load -> ready -> SIGINT or SIGTERM -> requests in flight are completed -> closed

A second signal, or `drain` seconds, end the requests in flight with 503.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any

import uvicorn

from longrank.service.connection import Connection
from longrank.service.freed_memory import use_one_heap
from longrank.service.head import MAX_HEAD_BYTES
from longrank.service.listening import allow_open_files, bind, url_of
from longrank.service.settings import ServiceSettings
from longrank.service.transport import Transport

_LOOK = 0.1  # seconds between two looks for a second signal


async def _nothing() -> None:
    pass


def _ignore() -> None:
    pass


def serve(
    app: Transport,
    settings: ServiceSettings,
    *,
    load: Callable[[], None],
    say: Callable[[str], None],
    close: Callable[[], Awaitable[None]] = _nothing,
    hang_up: Callable[[], None] = _ignore,
) -> int:
    """Serve until a signal; in the main thread of a process that does nothing else.

    Args:
        app: the application.
        settings: the limits.
        load: makes the application ready; runs in its own thread after the address is bound.
        say: called with ``listening on URL``, then ``ready``.
        close: stops the application's workers, after the last answer.
        hang_up: called at SIGHUP, which does not end the server.

    Returns:
        0; 1 if requests were ended before their answer.

    Raises:
        InputError: the address cannot be listened on.
        Exception: `load` fails.
    """
    use_one_heap()
    allow_open_files(settings.max_connections)
    listener = bind(settings)
    server = _Server(app, settings, load, say, close)
    server.hang_up = hang_up
    asyncio.run(server.serve(sockets=[listener]))
    if server.failure is not None:
        raise server.failure
    return 1 if server.cut_short else 0


class _Server(uvicorn.Server):
    """uvicorn's server with our connections, models that load beside it, and exit code 0 after SIGTERM."""

    def __init__(
        self,
        app: Transport,
        settings: ServiceSettings,
        load: Callable[[], None],
        say: Callable[[str], None],
        close: Callable[[], Awaitable[None]],
    ) -> None:
        self._app, self._drain, self._load, self._say, self._close = app, settings.drain, load, say, close
        self.hang_up: Callable[[], None] = _ignore
        self.failure: BaseException | None = None
        self.cut_short = False
        http: Any = partial(Connection, settings)
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
                timeout_graceful_shutdown=settings.drain,  # type: ignore[arg-type]
                h11_max_incomplete_event_size=MAX_HEAD_BYTES - 1,
            )
        )

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop at the first signal, at once at the second; uvicorn's own method would end the process by the signal."""
        self._app.stop()
        self.force_exit = self.should_exit
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and load the models."""
        await super().startup(sockets)
        for listener in sockets or ():
            self._say(f"listening on {url_of(listener)}")
        loop = asyncio.get_running_loop()
        if hasattr(signal, "SIGHUP"):  # Windows has none
            loop.add_signal_handler(signal.SIGHUP, self.hang_up)
        threading.Thread(target=self._load_in, args=(loop,), name="longrank-load", daemon=True).start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Complete the requests in flight, then stop the application's workers."""
        until = time.monotonic() + self._drain
        await self._until_forced(super().shutdown(sockets))
        self.cut_short = bool(self.server_state.tasks)  # the event loop's end cancels them
        if not self.cut_short:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._close(), until - time.monotonic())

    async def _until_forced(self, ending: Coroutine[Any, Any, None]) -> None:
        """Wait for an end, but after a second signal for no connection, as uvicorn does with Python 3.12 and later."""
        task = asyncio.ensure_future(ending)
        try:
            while not task.done() and not self.force_exit:
                await asyncio.wait({task}, timeout=_LOOK)
        finally:
            task.cancel()  # nothing, if it is done
        with suppress(asyncio.CancelledError):
            await task

    def _load_in(self, loop: asyncio.AbstractEventLoop) -> None:
        """Load the models, in a thread."""
        try:
            self._load()
            result = partial(self._say, "ready")
        except BaseException as error:  # raised again by `serve`
            result = partial(self._fail, error)
        with suppress(RuntimeError):  # the loop is closed: the server has been stopped
            loop.call_soon_threadsafe(result)

    def _fail(self, error: BaseException) -> None:
        self.failure = error
        self.should_exit = True
