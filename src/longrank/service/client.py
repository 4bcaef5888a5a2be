"""A client of a running server: a search takes no model and no index here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from longrank.errors import InputError, LongRankError
from longrank.formats.strict_json import Fault, parse, without_surrogates
from longrank.ranking.found import Partial, Result
from longrank.ranking.results import Results
from longrank.types import Notes

_MOST_BYTES = 64 << 20  # of an answer
_OF_INPUT = (400, 404, 413, 422)  # statuses of requests that are wrong


def search_at(
    url: str, request: Mapping[str, Any], *, key: str | None = None, timeout: float = 60.0
) -> tuple[Results[Result], str]:
    """Search the index of a server.

    Args:
        url: the server's address, ``http://127.0.0.1:8330``; a path is kept.
        request: the body of ``POST /search``.
        key: the server's key.
        timeout: seconds for the connection, and for each wait for bytes.

    Returns:
        The results, with the server's warnings as notes; and the name of the pipeline that answered.

    Raises:
        InputError: no address of HTTP, a wrong or missing key, or a request that the server refuses as wrong.
        LongRankError: no answer, an answer of another kind of server, or the server refuses for now (429, 5xx).
    """
    return results_of(url, *_asked(url, json.dumps(request).encode(), key, timeout))


def results_of(url: str, status: int, content: bytes) -> tuple[Results[Result], str]:
    """Return the results of a server's answer, and the name of the pipeline that answered; raises as `search_at`."""
    answer = _read(url, status, content)
    try:
        for row in answer["results"]:
            row["passages"] = [{"contribution": None, **passage} for passage in row["passages"]]
        results = TypeAdapter(list[Result]).validate_python(answer["results"])
        partial = TypeAdapter(Partial | None).validate_python(answer["partial"])
        notes = Notes()
        for warning in TypeAdapter(list[str]).validate_python(answer["warnings"]):
            notes.say(warning)
        return Results(str(answer["query"]), results, notes, partial), str(answer["pipeline"])
    except ValidationError as error:
        wrong = error.errors()[0]
        fault = f"{'.'.join(map(str, wrong['loc']))}: {wrong['msg']}"
    except (KeyError, TypeError) as error:
        fault = str(error)
    raise LongRankError(f"{url} does not answer as a LongRank server of this version ({fault})")


def _asked(url: str, body: bytes, key: str | None, timeout: float) -> tuple[int, bytes]:
    if key and not (key.isascii() and key.isprintable()):
        raise InputError("the key of a server is printable ASCII", fix="correct LONGRANK_API_KEY")
    connection, path = _connection(url, timeout)
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    try:
        connection.request("POST", f"{path}/search", body, headers)
        response = connection.getresponse()  # a redirect is not followed: it could lead the key elsewhere
        status, content = response.status, response.read(_MOST_BYTES + 1)
    except (OSError, HTTPException, UnicodeError) as error:  # UnicodeError: no name of a host
        raise LongRankError(f"no answer from {url} ({error}); start a server with longrank serve INDEX") from None
    finally:
        connection.close()
    return status, content


def _connection(url: str, timeout: float) -> tuple[HTTPConnection, str]:
    """Return the connection, not opened yet, and the path of the address."""
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError("the address of a server begins with http:// or https://", got=url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        return kind(parts.hostname, parts.port, timeout=timeout), parts.path.rstrip("/")
    except (ValueError, HTTPException) as error:
        raise InputError(f"is no address of a server: {error}", got=url) from None


def _read(url: str, status: int, content: bytes) -> dict[str, Any]:
    """Return the answer; raises as `search_at`."""
    try:
        text = content.decode() if len(content) <= _MOST_BYTES else ""
        answer, _ = without_surrogates(text, parse(text))
    except (ValueError, Fault):
        answer = None
    if status == 200 and isinstance(answer, dict):
        return answer
    message = answer.get("message", "") if isinstance(answer, dict) else ""
    if status == 401:
        raise InputError(f"{url} refuses the key", fix="set LONGRANK_API_KEY to the server's key")
    if status in _OF_INPUT and message:
        raise InputError(f"{url} refuses the search: {message}")
    raise LongRankError(f"{url} answers with status {status}" + (f": {message}" if message else ""))
