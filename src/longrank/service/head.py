"""All that the head of a request allows to check, before a byte of its body is read."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Collection, MutableMapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from longrank.errors import shown
from longrank.service.answers import CLOSE
from longrank.service.errors import Refusal

MAX_HEAD_BYTES = 65_536

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_OPEN = ("/", "/docs", "/openapi.json", "/health", "/ready")


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a request; a header that comes twice has both values, joined by a comma."""

    method: str
    path: str
    client: str
    headers: dict[str, str]

    @property
    def is_probe(self) -> bool:
        """Whether it only asks for the server's state, as load balancers do."""
        return self.path in ("/health", "/ready")

    @property
    def is_open(self) -> bool:
        """Whether it needs no key: a probe, the page itself, which asks for the key, or the API's description."""
        return self.path in _OPEN or self.path.startswith("/static/")


def head_of(scope: MutableMapping[str, Any]) -> Head:
    """Return the head of an ASGI request."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    client = scope.get("client") or ("-",)
    return Head(scope["method"], scope["path"], str(client[0]), headers)


def request_id(head: Head) -> str:
    """Return the id that the client gave its request, if it is fit for a log, else a new one."""
    given = head.headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else uuid4().hex


def check_version_and_size(scope: MutableMapping[str, Any]) -> None:
    """Refuse what is no HTTP/1, and a large head; most of those are refused before they have come whole.

    Raises:
        Refusal: 400, bad_request; 431, too_large.
    """
    if scope["http_version"] not in ("1.0", "1.1"):
        raise Refusal(400, "bad_request", "HTTP/1.1 is spoken here", CLOSE)
    fields = sum(len(name) + len(value) + len(": \r\n") for name, value in scope["headers"])
    if len(scope["raw_path"]) + len(scope["query_string"]) + fields > MAX_HEAD_BYTES:
        raise head_too_large()


def head_too_large() -> Refusal:
    """Return what a head that is too large is answered."""
    return Refusal(431, "too_large", f"the head has more than {MAX_HEAD_BYTES} bytes", CLOSE)


def check_host(head: Head, allowed: Collection[str]) -> None:
    """Refuse a name that the server does not go by: a page elsewhere may have had its own name lead here.

    Raises:
        Refusal: 400, bad_host.
    """
    given = head.headers.get("host", "")
    name = re.sub(r":\d*$", "", given).rstrip(".").lower()
    if "*" not in allowed and name not in allowed:
        fix = "start the server with --allow-host NAME if it should be"
        raise Refusal(400, "bad_host", f"no server of the name {shown(given)} is here; {fix}")


def check_key(head: Head, digest: bytes) -> None:
    """Refuse a request without the key; takes the same time whatever is wrong with the key.

    Args:
        head: of the request.
        digest: SHA-256 of the key.

    Raises:
        Refusal: 401, unauthorized.
    """
    scheme, _, given = head.headers.get("authorization", "").partition(" ")
    matches = hmac.compare_digest(hashlib.sha256(given.strip().encode("latin-1")).digest(), digest)
    if not (matches and scheme.lower() == "bearer"):
        what = "Authorization: Bearer KEY is needed" if not given else "the key is wrong"
        raise Refusal(401, "unauthorized", what, {"WWW-Authenticate": "Bearer"})


def check_body_head(head: Head, max_bytes: int) -> None:
    """Refuse a body by what the head says of it.

    Raises:
        Refusal: 415, not JSON or compressed; 413, too large; 400, its length is said twice.
    """
    headers = head.headers
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise Refusal(415, "media_type", f"Content-Type must be application/json, not {shown(media_type)}")
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Refusal(415, "media_type", "the body must not be compressed", {"Accept-Encoding": "identity"})
    if "content-length" in headers and "transfer-encoding" in headers:
        raise Refusal(400, "bad_request", "Content-Length and Transfer-Encoding exclude each other", CLOSE)
    if int(headers.get("content-length", "0")) > max_bytes:
        raise too_large(max_bytes)


def too_large(max_bytes: int) -> Refusal:
    """Return what a body of more than `max_bytes` bytes is answered."""
    return Refusal(413, "too_large", f"the body has more than {max_bytes} bytes", CLOSE)
