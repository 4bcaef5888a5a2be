"""JSON as RFC 8259 has it: what Python's parser lets through is refused here.

Python's ``json`` keeps the last of two equal keys, reads ``NaN``, turns ``1e999`` into an infinity,
dies of deep nesting and makes strings that no file can hold.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

_MAX_NESTING = 100
_MAX_DIGITS = 1000
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")

_EXPLAINED = {
    "Expecting value": "a value is missing",
    "Extra data": "more follows where it should end",
    "Expecting ',' delimiter": "a comma is missing",
    "Expecting ':' delimiter": "a colon is missing",
    "Expecting property name enclosed in double quotes": "a key in double quotes is missing",
    "Unterminated string starting at": "a string is never closed that begins",
    "Invalid control character at": "a control character that is not written as \\n, \\t or the like",
    "Invalid \\escape": "an unknown escape",
}
"""What Python's parser says -> what is wrong."""


class Fault(Exception):
    """What makes a text no strict JSON although it has JSON's form, and the offending piece."""

    def __init__(self, what: str, got: str | None = None) -> None:
        super().__init__(what)
        self.what, self.got = what, got


def parse(text: str) -> Any:
    """Return the value that is the whole of `text`; lone surrogates (``"\\ud800"``) are left in it.

    Raises:
        Fault: a key twice in an object, ``NaN`` or an infinity, a number of more than 1000 digits, nesting
            deeper than 100.
        json.JSONDecodeError: not JSON; `explained` says why.
    """
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise Fault(f"nested deeper than {_MAX_NESTING}") from None
    if text.count("[") + text.count("{") > _MAX_NESTING:
        _check_nesting(value, _MAX_NESTING)
    return value


def explained(error: json.JSONDecodeError) -> str:
    """Return what is wrong, and in which column."""
    return f"is not JSON: {_EXPLAINED.get(error.msg, error.msg)} at column {error.colno}"


def without_surrogates(text: str, value: Any) -> tuple[Any, int]:
    """Return `value`, which `parse` has made of `text`, with every lone surrogate as U+FFFD, and their number."""
    return _repaired(value) if _ESCAPED_SURROGATE.search(text) else (value, 0)


def _repaired(value: Any) -> tuple[Any, int]:
    """Replace lone surrogates; nesting is already known to be shallow."""
    if isinstance(value, str):
        return _SURROGATE.subn("\ufffd", value)
    if isinstance(value, list):
        parts = [_repaired(part) for part in value]
        return [part for part, _ in parts], sum(count for _, count in parts)
    if isinstance(value, dict):
        pairs = [(_repaired(key), _repaired(part)) for key, part in value.items()]
        count = sum(key[1] + part[1] for key, part in pairs)
        return _object([(key[0], part[0]) for key, part in pairs]), count
    return value, 0


def _check_nesting(value: Any, left: int) -> None:
    if not isinstance(value, dict | list):
        return
    if left == 0:
        raise Fault(f"nested deeper than {_MAX_NESTING}")
    for part in value.values() if isinstance(value, dict) else value:
        _check_nesting(part, left - 1)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise Fault("key occurs twice in an object", key)
            seen.add(key)
    return record


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise Fault(f"number of {len(text)} digits")
    return int(text)


def _float(text: str) -> float:
    if len(text) > _MAX_DIGITS:
        raise Fault(f"number of {len(text)} digits")
    value = float(text)
    if not math.isfinite(value):
        raise Fault("number is too large", text)
    return value


def _constant(text: str) -> None:
    raise Fault("is not a JSON number", text)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant)
