"""The limits of the server, with their defaults."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


def is_key(text: str) -> bool:
    """Tell whether a header can hold a key."""
    return bool(text) and text.isascii() and text.isprintable() and " " not in text


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Limits; sizes in bytes, times in seconds.

    Attributes:
        host: address to listen on.
        port: port to listen on; 0: any free port.
        key: key that clients send as ``Authorization: Bearer KEY``; None: no key.
        allowed_hosts: accepted names in a request's ``Host``, without port; ``*``: any.
        max_requests: rankings that wait or are computed; more get 429.
        max_tokens: estimated tokens of these rankings; more get 429.
        max_wait: predicted wait before a ranking is computed; longer waits get 429.
        max_connections: open connections; more get 503.
        max_body_bytes: bytes of a body; larger bodies get 413 before they are read to their end.
        max_buffered_bytes: bytes of all arriving bodies; more get 503.
        max_documents: documents of a request; more get 413.
        max_request_tokens: estimated tokens of a request; more get 413.
        max_query_characters: characters of a query; more get 422.
        deadline: time from a request's arrival to its answer; later answers are 504. Clients may ask for less.
        header_timeout: time for the first head of a connection to arrive.
        keep_alive: time from an answer until the next head has arrived.
        body_timeout: time for a body to arrive; slower bodies get 408.
        drain: time to complete requests in flight after a signal to stop.
        writable: True: clients may change the index; needs a key.
        files: folder whose files are served; None: no file is served.
        batch_tokens: estimated tokens of a batch; between batches, cancelled and late requests are dropped.
    """

    host: str = "127.0.0.1"
    port: int = 8330
    key: str | None = None
    allowed_hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "[::1]")
    max_requests: int = 64
    max_tokens: int = 262_144
    max_wait: float = 8.0
    max_connections: int = 1024
    max_body_bytes: int = 2 << 20
    max_buffered_bytes: int = 64 << 20
    max_documents: int = 1000
    max_request_tokens: int = 2_000_000
    max_query_characters: int = 10_000
    deadline: float = 30.0
    header_timeout: float = 9.0
    keep_alive: float = 20.0
    body_timeout: float = 28.0
    drain: float = 30.0
    batch_tokens: int = 8192
    files: Path | None = None
    writable: bool = False

    @property
    def public(self) -> dict[str, float]:
        """The limits that ``/info`` shows."""
        names = ("max_documents", "max_body_bytes", "max_query_characters", "max_request_tokens", "deadline")
        return {name: getattr(self, name) for name in names}
