"""Checks of a request's head, before a byte of its body is read."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Collection, MutableMapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from longrank.errors import shown
from longrank.service.errors import CLOSE, Refusal

MAX_HEAD_BYTES = 65_536

SECURITY_HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
}
"""Headers of every answer: the page may load files of this server only, and other pages may not frame or embed it."""

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_OPEN = ("/", "/docs", "/openapi.json", "/health", "/ready")


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a request; a repeated header has all its values, joined by commas."""

    method: str
    path: str
    client: str
    n_bytes: int
    headers: dict[str, str]

    @property
    def is_probe(self) -> bool:
        """True for the paths that load balancers ask for the server's state."""
        return self.path in ("/health", "/ready")

    @property
    def is_open(self) -> bool:
        """True for paths that need no key: probes, the page, which asks for the key, and the API's description."""
        return self.path in _OPEN or self.path.startswith("/static/")

    @property
    def has_body(self) -> bool:
        """True if a body follows."""
        return "content-length" in self.headers or "transfer-encoding" in self.headers

    @property
    def closes(self) -> bool:
        """True if the client wants the connection closed after the answer."""
        return "close" in self.headers.get("connection", "").lower()


def head_of(scope: MutableMapping[str, Any]) -> Head:
    """Return the head of an ASGI request."""
    headers: dict[str, str] = {}
    n_bytes = len(scope["raw_path"]) + len(scope["query_string"])
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
        n_bytes += len(name) + len(value) + len(": \r\n")
    client = scope.get("client") or ("-",)
    return Head(scope["method"], scope["path"], str(client[0]), n_bytes, headers)


def request_id(head: Head) -> str:
    """Return the client's ``X-Request-Id`` if a log can hold it, else a new id."""
    value = head.headers.get("x-request-id", "")
    return value if _REQUEST_ID.fullmatch(value) else uuid4().hex


def head_too_large() -> Refusal:
    """Return the refusal of a head of more than `MAX_HEAD_BYTES` bytes."""
    return Refusal(431, "too_large", f"the head has more than {MAX_HEAD_BYTES} bytes", CLOSE)


def check_host(head: Head, allowed: Collection[str]) -> None:
    """Refuse names that are not the server's: another site's name may resolve to this address (DNS rebinding).

    Raises:
        Refusal: 400, bad_host.
    """
    host = head.headers.get("host", "")
    name = re.sub(r":\d*$", "", host).rstrip(".").lower()
    if "*" not in allowed and name not in allowed:
        fix = "start it with --allow-host NAME to allow a name"
        raise Refusal(400, "bad_host", f"the server does not go by the name {shown(host)}; {fix}")


def check_key(head: Head, digest: bytes) -> None:
    """Refuse a request without the key; takes the same time whatever is wrong with the key.

    Args:
        head: head of the request.
        digest: SHA-256 of the key.

    Raises:
        Refusal: 401, unauthorized.
    """
    scheme, _, key = head.headers.get("authorization", "").partition(" ")
    matches = hmac.compare_digest(hashlib.sha256(key.strip().encode("latin-1")).digest(), digest)
    if not (matches and scheme.lower() == "bearer"):
        fault = "the key is wrong" if key else "Authorization: Bearer KEY is needed"
        raise Refusal(401, "unauthorized", fault, {"WWW-Authenticate": "Bearer"})


def check_body_head(head: Head, max_bytes: int) -> None:
    """Refuse a body by its headers.

    Raises:
        Refusal: 415, not JSON or compressed; 413, too large.
    """
    headers = head.headers
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise Refusal(415, "media_type", f"Content-Type must be application/json, not {shown(media_type)}")
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Refusal(415, "media_type", "the body must not be compressed", {"Accept-Encoding": "identity"})
    if int(headers.get("content-length", "0")) > max_bytes:
        raise too_large(max_bytes)


def too_large(max_bytes: int) -> Refusal:
    """Return the refusal of a body of more than `max_bytes` bytes."""
    return Refusal(413, "too_large", f"the body has more than {max_bytes} bytes")
