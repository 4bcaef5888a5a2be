"""Checks of a request's head, before a byte of its body is read."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Collection, MutableMapping
from typing import Any
from uuid import uuid4

from starlette.datastructures import Headers

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


def is_probe(path: str) -> bool:
    """Return True for the paths that load balancers ask for the server's state."""
    return path in ("/health", "/ready")


def needs_key(path: str) -> bool:
    """Return False for probes, the page, which asks for the key, and the description of the API."""
    return path not in _OPEN and not path.startswith("/static/")


def request_id(headers: Headers) -> str:
    """Return the client's ``X-Request-Id`` if a log can hold it, else a new id."""
    value = headers.get("x-request-id", "")
    return value if _REQUEST_ID.fullmatch(value) else uuid4().hex


def check_size(scope: MutableMapping[str, Any]) -> None:
    """Refuse a large head; h11 refuses most of them before they have arrived.

    Raises:
        Refusal: 431, too_large.
    """
    fields = sum(len(name) + len(value) + len(": \r\n") for name, value in scope["headers"])
    if len(scope["raw_path"]) + len(scope["query_string"]) + fields > MAX_HEAD_BYTES:
        raise head_too_large()


def head_too_large() -> Refusal:
    """Return the refusal of a head of more than `MAX_HEAD_BYTES` bytes."""
    return Refusal(431, "too_large", f"the head has more than {MAX_HEAD_BYTES} bytes", CLOSE)


def check_host(headers: Headers, allowed: Collection[str]) -> None:
    """Refuse names that are not the server's: another site's name may resolve to this address (DNS rebinding).

    Raises:
        Refusal: 400, bad_host.
    """
    host = headers.get("host", "")
    name = re.sub(r":\d*$", "", host).rstrip(".").lower()
    if "*" not in allowed and name not in allowed:
        fix = "start it with --allow-host NAME to allow a name"
        raise Refusal(400, "bad_host", f"the server does not go by the name {shown(host)}; {fix}")


def check_key(headers: Headers, digest: bytes) -> None:
    """Refuse a request without the key; the check takes the same time for every wrong key.

    Args:
        headers: headers of the request.
        digest: SHA-256 of the key.

    Raises:
        Refusal: 401, unauthorized.
    """
    scheme, _, key = headers.get("authorization", "").partition(" ")
    matches = hmac.compare_digest(hashlib.sha256(key.strip().encode("latin-1")).digest(), digest)
    if not (matches and scheme.lower() == "bearer"):
        fault = "the key is wrong" if key else "Authorization: Bearer KEY is needed"
        raise Refusal(401, "unauthorized", fault, {"WWW-Authenticate": "Bearer"})


def check_body_head(headers: Headers, max_bytes: int) -> None:
    """Refuse a body by its headers.

    Raises:
        Refusal: 415, not JSON or compressed; 413, too large.
    """
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
