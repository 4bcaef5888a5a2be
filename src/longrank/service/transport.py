"""Between the network and the application: what every request must be, and what every answer is.

head -> request id, host, key -> route -> type, size, room -> body, read whole -> application -> answer, log line

Whatever goes wrong on the way is a `Refusal`, written down as the dialect of its path has it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import traceback
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.routing import Match

from longrank.errors import LongRankError, printable
from longrank.service.bodies import Bodies, ClientGone, Message, Receive, Send
from longrank.service.errors import Refusal, stopping
from longrank.service.exchange import Exchange
from longrank.service.head import check_body_head, check_host, check_key, check_version_and_size, head_of
from longrank.service.settings import ServiceSettings

if TYPE_CHECKING:
    from longrank.service.admission import Admission
    from longrank.service.metrics import Metrics

_logger = logging.getLogger("longrank.service")


class Transport:
    """The ASGI application that a server serves: checks around `app`.

    Args:
        app: answers what has passed all checks.
        settings: the limits.
        admission: says whether rankings are taken at all at the moment.
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
        self._bodies = Bodies(settings)
        self._key = None if settings.key is None else hashlib.sha256(settings.key.encode()).digest()

    def stop(self) -> None:
        """Say from now on that the server is not ready; requests that come are still answered."""
        self.stopping = True

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise RuntimeError(f"no {scope['type']} is spoken here")
        exchange = Exchange(head_of(scope), send)
        try:
            await self._answer(exchange, scope, receive)
            if not exchange.begun:
                raise RuntimeError("the application has not answered")
        except Refusal as refusal:
            await exchange.refuse(refusal)
        except ClientGone:  # nobody is there to be answered; the log line below says 499
            pass
        except asyncio.CancelledError:  # only the server's end cancels requests
            await exchange.refuse(stopping())
        except Exception as error:
            _logger.error("%s failed: %s", exchange.id, _described(error))
            await exchange.refuse(Refusal(500, "internal", "an error inside the server; its log knows more"))
        finally:
            self._record(exchange, scope)

    async def _answer(self, exchange: Exchange, scope: dict[str, Any], receive: Receive) -> None:
        head, settings = exchange.head, self.settings
        check_version_and_size(scope)
        if not head.is_probe:
            check_host(head, settings.allowed_hosts)
        if self._key is not None and not head.is_open:
            check_key(head, self._key)
        if head.path == "/ready" and self.stopping:
            raise stopping()
        state = {**scope.get("state", {}), "request_id": exchange.id, "arrival": exchange.arrival}
        # The server leaves the body of an answer to HEAD out, whatever the application sends.
        inner = {**scope, "state": state, "method": "GET" if head.method == "HEAD" else head.method}
        body = b""
        if head.method == "POST" and self._is_served(inner):
            check_body_head(head, settings.max_body_bytes)
            if self.admission is not None:
                self.admission.refuse_if_full()
            body = await self._bodies.read(receive)
            exchange.unread = False
        await _run(self.app, inner, body, receive, exchange)
        exchange.code = state.get("refused", "")

    def _is_served(self, scope: dict[str, Any]) -> bool:
        """Say whether there is such a path that takes this method; if not, the application says what there is."""
        return any(route.matches(dict(scope))[0] is Match.FULL for route in self.app.routes)

    def _record(self, exchange: Exchange, scope: dict[str, Any]) -> None:
        head = exchange.head
        if self.metrics is not None:
            self.metrics.answered(head.path, exchange.status, exchange.seconds)
            if exchange.code:
                self.metrics.refused(exchange.code)
        milliseconds = f"{1000 * exchange.seconds:.0f} ms"
        said = (head.client, head.method, head.path[:200], exchange.status, exchange.code, milliseconds, exchange.id)
        _logger.info("%s", " ".join(printable(str(one)) for one in said if one != ""))


def request_id_of(scope: Any) -> str:
    """Return the id of the request that an application answers."""
    return str(scope["state"]["request_id"])


def arrival_of(scope: Any) -> float:
    """Return when the head of the request was read, of `time.monotonic`."""
    return float(scope["state"]["arrival"])


def refused(scope: Any, refusal: Refusal) -> None:
    """Remember, for the log and the metrics, why an application refuses a request."""
    scope["state"]["refused"] = refusal.code


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
        await work  # a complete answer, too, ends what `receive` gives
    finally:
        gone.cancel()
        work.cancel()
        await asyncio.gather(gone, work, return_exceptions=True)


async def _disconnect(receive: Receive) -> Message:
    while (message := await receive())["type"] != "http.disconnect":
        pass
    return message


def _described(error: Exception) -> str:
    """Return the error and where it was raised, on one line that a log can hold.

    What others than LongRank and the system say may quote what was asked: a key, a term that is not there.
    """
    said = f": {str(error)[:200]}" if isinstance(error, LongRankError | OSError) else ""
    frames = traceback.extract_tb(error.__traceback__)[-5:]
    places = " < ".join(f"{frame.name} {frame.filename}:{frame.lineno}" for frame in reversed(frames))
    return printable(f"{type(error).__name__}{said} in {places}")[:1900]
