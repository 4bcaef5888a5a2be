"""What a server answers when it does not rank: a status, a code for programs, a sentence for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longrank.errors import printable

_LONGEST = 500  # characters of a message


class Refusal(Exception):
    """A request that is not answered with a ranking.

    Args:
        status: of HTTP; 5xx only where the fault, or the overload, is the server's.
        code: a short name of the reason, for programs: ``too_large``, ``overloaded``, ...
        message: a sentence for people; whatever comes from the request is shown escaped.
        headers: more headers of the answer, ``Retry-After`` above all.
    """

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.headers = status, code, dict(headers or {})
        self.message = printable(message[:_LONGEST])[:_LONGEST]


def not_ready() -> Refusal:
    """Return what rankings are answered while the models load."""
    return Refusal(503, "not_ready", "the models are still loading", {"Retry-After": "2"})


def stopping() -> Refusal:
    """Return what requests are answered that come after the signal to stop."""
    return Refusal(503, "stopping", "the server is stopping", {"Retry-After": "1"})


def error_body(path: str, refusal: Refusal, request_id: str) -> dict[str, Any]:
    """Return the body of an answer as the dialect of `path` has it; ours is {code, message, request_id}.

    Cohere's clients read ``message``, Jina's ``detail``, vLLM's and text-embeddings-inference's ``error``.
    """
    body: dict[str, Any] = {"code": refusal.code, "message": refusal.message, "request_id": request_id}
    if path == "/rerank":
        body |= {"error": refusal.message, "error_type": refusal.code}
    if path == "/v1/rerank":
        body |= {"detail": refusal.message}
    return body
