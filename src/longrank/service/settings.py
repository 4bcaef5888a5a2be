"""What a server allows and how much of it at a time: every limit, with its default, in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """The limits of a server; sizes in bytes, times in seconds.

    Attributes:
        host: the address that it listens on.
        port: 0: any free one.
        key: what a client must send as ``Authorization: Bearer KEY``; None: nothing.
        allowed_hosts: names that a request's ``Host`` may have, without port; ``*``: any.
        max_requests: rankings that wait or are computed at a time; more are refused with 429.
        max_tokens: estimated tokens of all of them; more are refused with 429.
        max_wait: for which a ranking may be expected to wait before it is computed; more are refused with 429.
        max_connections: open connections; more are refused with 503.
        max_body_bytes: of one request; a larger one is refused with 413 before it is read to its end.
        max_buffered_bytes: of all bodies that are being received; more are refused with 503.
        max_documents: of one request (413).
        max_request_tokens: estimated tokens of one request (413).
        max_query_characters: of a query (422).
        deadline: from a request's arrival to its answer, else 504; a client may ask for less.
        idle_timeout: for the head of a request to arrive, from the start of the connection or from the last answer.
        body_timeout: for its body to arrive.
        drain: in which what is in flight is completed after a signal to stop.
        batch_tokens: estimated tokens that are scored between two looks at who is waiting or has left.
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
    idle_timeout: float = 9.0
    body_timeout: float = 28.0
    drain: float = 30.0
    batch_tokens: int = 8192

    @property
    def told(self) -> dict[str, float]:
        """The limits that a client may want to know."""
        names = ("max_documents", "max_body_bytes", "max_query_characters", "max_request_tokens", "deadline")
        return {name: getattr(self, name) for name in names}
