"""Refusals: a status, a code for programs, and a sentence for people, in the shape of each dialect."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from longrank.errors import printable

CLOSE = {"Connection": "close"}
"""Headers of an answer after which the connection is closed."""

LATE = "deadline"
"""Code of the refusal of an answer that is too late."""

_MAX_CHARACTERS = 500  # of a message


class Refusal(Exception):
    """A request that is refused.

    Args:
        status: HTTP status; 5xx only where the fault, or the overload, is the server's.
        code: short name of the reason, for programs: ``too_large``, ``overloaded``, ...
        message: sentence for people; text from the request is shown escaped.
        headers: more headers of the answer, such as ``Retry-After``.
        fields: more fields of the answer.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        headers: Mapping[str, str] | None = None,
        fields: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.headers, self.fields = status, code, dict(headers or {}), dict(fields or {})
        self.message = printable(message[:_MAX_CHARACTERS])[:_MAX_CHARACTERS]

    def __reduce__(self) -> tuple[type[Refusal], tuple[int, str, str, dict[str, str], dict[str, Any]]]:
        return Refusal, (self.status, self.code, self.message, self.headers, self.fields)

    def answer(self, path: str, request_id: str) -> tuple[list[tuple[bytes, bytes]], bytes]:
        """Return headers and body as the dialect of `path` has them; ours is {code, message, request_id}.

        Cohere's clients read ``message``, Jina's ``detail``, vLLM's and text-embeddings-inference's ``error``.
        """
        value = {**self.fields, "code": self.code, "message": self.message, "request_id": request_id}
        if path == "/rerank":
            value |= {"error": self.message, "error_type": self.code}
        if path in ("/rerank", "/v1/rerank"):
            value |= {"detail": self.message}
        body = json.dumps(value).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body)), **self.headers}
        return encoded(headers), body


def encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Return headers as ASGI has them."""
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


def not_ready() -> Refusal:
    """Return the refusal of rankings while models load."""
    return Refusal(503, "not_ready", "the models are still loading", {"Retry-After": "2"})


def stopping() -> Refusal:
    """Return the refusal of requests after the signal to stop."""
    return Refusal(503, "stopping", "the server is stopping", {"Retry-After": "1"})
