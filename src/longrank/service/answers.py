"""What every answer carries, and how a refusal is written down, by whichever layer refuses."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import NamedTuple

from longrank.service.errors import Refusal, error_body

SECURITY_HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
}
"""On every answer: the page may load what this server serves and nothing else, and nobody may frame or embed it."""

CLOSE = {"connection": "close"}
"""Of an answer after which the rest of the request is not read."""


class Answer(NamedTuple):
    """A status, headers in lower case, a body."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    @property
    def phrase(self) -> bytes:
        """The words after the status."""
        return HTTPStatus(self.status).phrase.encode()


def answer(refusal: Refusal, path: str, request_id: str) -> Answer:
    """Write a refusal down, without what every answer carries besides."""
    body = json.dumps(error_body(path, refusal, request_id)).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), **refusal.headers}
    return Answer(refusal.status, encoded(headers), body)


def encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    """Return headers as ASGI has them."""
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
