"""Input and output of the scripts in the clients' environments: requests on stdin, replies on stdout.

These files are run by pythons that have a client's packages and not LongRank's: only the standard library is used.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any


def answer(*asks: Callable[..., Any]) -> None:
    """Call the function that the command line names with what stdin has, and print its result as JSON."""
    chosen = {ask.__name__: ask for ask in asks}[sys.argv[1]]
    print(json.dumps(chosen(**json.load(sys.stdin))))


def failed(call: Callable[[], Any]) -> dict[str, Any]:
    """Return which exception a call raises, with its HTTP status and what is said."""
    try:
        call()
    except Exception as error:
        headers = getattr(error, "headers", None) or getattr(getattr(error, "response", None), "headers", None) or {}
        return {
            "type": type(error).__name__,
            "status": getattr(error, "status_code", None),
            "said": str(getattr(error, "body", None) or error),
            "retry_after": {name.lower(): value for name, value in dict(headers).items()}.get("retry-after"),
        }
    return {"type": None}


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a call returns and how many seconds it took."""
    started = time.monotonic()
    return call(), time.monotonic() - started
