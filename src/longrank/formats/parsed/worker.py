"""The child process that parses files: requests on standard input, documents on standard output, as JSON lines.

It limits its own memory, time and output before it reads a request. It is started by `child`.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import asdict
from importlib import import_module
from typing import Any, TextIO

from longrank.formats.parsed import PARSERS, NoText, Parsed, Unreadable


def main() -> None:
    """Answer requests until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    quiet = os.open(os.devnull, os.O_RDWR)
    os.dup2(quiet, 1)  # parsers print warnings
    os.dup2(quiet, 2)
    limits = json.loads(sys.stdin.readline())
    _limit_memory(limits["memory"])
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_CORE, 0)
    for line in sys.stdin:
        _answer(json.loads(line), int(limits["seconds"]), answers)


def _limit_memory(value: int) -> None:
    try:
        _limit(resource.RLIMIT_AS, value)
    except ValueError:  # on macOS a process begins with more addresses than any limit
        if sys.platform != "darwin":
            raise


def _limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def _answer(request: dict[str, Any], seconds: int, answers: TextIO) -> None:
    end: dict[str, Any] = {"end": True}
    try:
        for parsed in _documents(request, seconds):
            answers.write(json.dumps({"document": asdict(parsed)}) + "\n")
    except Exception as error:  # a parser's own fault, too: the file is named, and the next file is read
        end = {"error": _fault(error), "no_text": isinstance(error, NoText)}
    answers.write(json.dumps(end) + "\n")
    answers.flush()


def _fault(error: Exception) -> str:
    if isinstance(error, Unreadable):
        return str(error)
    if isinstance(error, MemoryError):
        return "needs more memory than the limit"
    if isinstance(error, OSError):
        return f"cannot be read: {error.strerror or error}"
    return f"stops its parser ({type(error).__name__})"


def _documents(request: dict[str, Any], seconds: int) -> Iterator[Parsed]:
    module, _, function = PARSERS[request["format"]].function.partition(":")
    documents = getattr(import_module(module), function)(request.get("text", request["path"]))
    while True:
        spent = resource.getrusage(resource.RUSAGE_SELF)
        _limit(resource.RLIMIT_CPU, int(spent.ru_utime + spent.ru_stime) + seconds + 2)  # also if nobody waits
        parsed = next(documents, None)
        if parsed is None:
            return
        parsed.text, parsed.title = _clean(parsed.text), _composed(parsed.title)
        parsed.values = {_clean(key): _composed(value) for key, value in parsed.values.items()}
        yield parsed


def _clean(text: str) -> str:
    """Replace lone surrogates and NULs, one by one, so that offsets stay right."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", _clean(text))
