"""Strict JSON (RFC 8259).

Python's ``json`` keeps the last of two equal keys, reads ``NaN``, turns ``1e999`` into an infinity, fails on deep
nesting and makes strings that no file can hold. All of these are refused here.
"""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from typing import Any

_MAX_NESTING = 100
_MAX_DIGITS = 1000
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")

_EXPLAINED = {
    "Expecting value": "a value is missing",
    "Extra data": "more text follows its end",
    "Expecting ',' delimiter": "a comma is missing",
    "Expecting ':' delimiter": "a colon is missing",
    "Expecting property name enclosed in double quotes": "a key in double quotes is missing",
    "Unterminated string starting at": "a string is never closed; it begins",
    "Invalid control character at": "a control character that is not escaped as \\n, \\t or alike",
    "Invalid \\escape": "an unknown escape",
}
"""Message of Python's parser -> message of LongRank."""


class Fault(Exception):
    """A fault that Python's parser accepts, and the offending value."""

    def __init__(self, what: str, got: str | None = None) -> None:
        super().__init__(what)
        self.what, self.got = what, got


def parse(text: str) -> Any:
    """Return the value of a JSON text; lone surrogates (``"\\ud800"``) stay in it.

    Raises:
        Fault: a key twice in an object, ``NaN`` or an infinity, a number of more than 1000 digits, nesting
            deeper than 100.
        json.JSONDecodeError: not JSON; `explained` says why.
    """
    try:
        value = _decoded(text)
    except RecursionError:
        raise Fault(f"nested deeper than {_MAX_NESTING}") from None
    if (text.find("{", 1) > 0 or "[" in text) and text.count("[") + text.count("{") > _MAX_NESTING:
        _check_nesting(value, _MAX_NESTING)
    return value


def _decoded(text: str) -> Any:
    """Return the result of `_DECODER.decode`; of a text without white space around it, faster."""
    with suppress(StopIteration):  # there is white space before the value, or no value
        value, end = _DECODER.scan_once(text, 0)
        if end == len(text):
            return value
    return _DECODER.decode(text)


def explained(error: json.JSONDecodeError) -> str:
    """Return the fault and its column."""
    return f"is not JSON: {_EXPLAINED.get(error.msg, error.msg)} at column {error.colno}"


def without_surrogates(text: str, value: Any) -> tuple[Any, int]:
    """Return the parsed value with every lone surrogate replaced by U+FFFD, and the number of replacements."""
    return repaired(value) if _ESCAPED_SURROGATE.search(text) else (value, 0)


def repaired(value: Any) -> tuple[Any, int]:
    """Return a JSON value with every lone surrogate replaced by U+FFFD, and the number of replacements."""
    if isinstance(value, str):
        return _SURROGATE.subn("\ufffd", value)
    if isinstance(value, list):
        parts = [repaired(part) for part in value]
        return [part for part, _ in parts], sum(count for _, count in parts)
    if isinstance(value, dict):
        pairs = [(repaired(key), repaired(part)) for key, part in value.items()]
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


_DECODER: Any = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant
)
