"""One JSON object per line, strictly (RFC 8259): what Python's parser lets through is refused here.

Python's ``json`` keeps the last of two equal keys, reads ``NaN``, turns ``1e999`` into an infinity,
dies of deep nesting and makes strings that no file can hold. Documents and queries share this parser.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.formats.ids import check_id
from longrank.formats.lines import DEFAULT_TEXT, TEXT_IN_MEMORY, Line, TextOptions, read_blocks, read_lines
from longrank.types import Notes

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


class _Fault(Exception):
    """What is wrong with a line, and the offending piece."""

    def __init__(self, what: str, got: str | None = None) -> None:
        self.what, self.got = what, got


def read_objects(
    path: Path, notes: Notes, options: TextOptions = DEFAULT_TEXT
) -> Iterator[tuple[Line, dict[str, Any]]]:
    """Yield every line of a JSONL file with the object it holds; blank lines are passed over.

    Raises:
        InputError: as `read_lines` and `parse_object`.
    """
    for line in read_lines(path, notes, options):
        if line.text.strip(" \t\r"):
            yield line, parse_object(line, path, notes)


def parse_object(line: Line, path: Path, notes: Notes) -> dict[str, Any]:
    """Return the JSON object that is the whole of `line`.

    Lone surrogates (``"\\ud800"``), which are no text, become U+FFFD and are counted.

    Raises:
        InputError: not JSON, not an object, a key twice in an object, ``NaN`` or an infinity, a
            number of more than 1000 digits, or nesting deeper than 100.
    """
    if line.text.lstrip(" \t").startswith("["):
        fix = "write one object per line, e.g. jq -c '.[]'"
        raise InputError("looks like JSON, not JSONL: an array", path=path, line=line.number, fix=fix)
    value = _strict(line, path, notes)
    if not isinstance(value, dict):
        raise InputError("is not a JSON object", path=path, line=line.number, got=line.text)
    return value


def read_json(path: Path, notes: Notes, options: TextOptions = TEXT_IN_MEMORY) -> Any:
    """Return the value that a whole file holds, as strictly as `parse_object`.

    Raises:
        InputError: as `read_lines` and `parse_object`; any JSON value is taken.
    """
    blocks = list(read_blocks(path, notes, options))
    text = "\n".join(block.text for block in blocks)
    if not text.strip():
        raise InputError("is empty", path=path)
    return _strict(Line(1, text, blocks[-1].ended), path, notes)


def _strict(line: Line, path: Path, notes: Notes) -> Any:
    try:
        value = _parsed(line.text)
        if _ESCAPED_SURROGATE.search(line.text):
            value = _repaired(value, notes, f"{path}:{line.number}")
    except _Fault as fault:
        raise InputError(fault.what, path=path, line=line.number, got=fault.got) from None
    except json.JSONDecodeError as error:
        number = line.number + error.lineno - 1
        what = f"is not JSON: {_EXPLAINED.get(error.msg, error.msg)} at column {error.colno}"
        cut = error.pos >= len(line.text.rstrip()) or error.msg.startswith("Unterminated")
        what += "; the file looks truncated" if cut and not line.ended else ""
        got = line.text.split("\n")[error.lineno - 1]
        raise InputError(what, path=path, line=number, got=got) from None
    return value


def id_of(record: dict[str, Any], keys: Sequence[str], line: Line, path: Path) -> str:
    """Return the id under the first of `keys` that the record has; the number 7 is the id "7".

    Raises:
        InputError: none of the keys, or a value that is neither a string fit for an id nor an integer.
    """
    key = next((key for key in keys if key in record), None)
    if key is None:
        raise InputError("no id", path=path, line=line.number, fix=f"one of {', '.join(keys)} is needed")
    value = record[key]
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise InputError(f"'{key}' is neither a string nor an integer", path=path, line=line.number, got=value)
    return check_id(value, f"'{key}'", path, line.number)


def _parsed(text: str) -> Any:
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise _Fault(f"nested deeper than {_MAX_NESTING}") from None
    if text.count("[") + text.count("{") > _MAX_NESTING:
        _check_nesting(value, _MAX_NESTING)
    return value


def _check_nesting(value: Any, left: int) -> None:
    if not isinstance(value, dict | list):
        return
    if left == 0:
        raise _Fault(f"nested deeper than {_MAX_NESTING}")
    for part in value.values() if isinstance(value, dict) else value:
        _check_nesting(part, left - 1)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Fault("key occurs twice in an object", key)
            seen.add(key)
    return record


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise _Fault(f"number of {len(text)} digits")
    return int(text)


def _float(text: str) -> float:
    if len(text) > _MAX_DIGITS:
        raise _Fault(f"number of {len(text)} digits")
    value = float(text)
    if not math.isfinite(value):
        raise _Fault("number is too large", text)
    return value


def _constant(text: str) -> None:
    raise _Fault("is not a JSON number", text)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant)


def _repaired(value: Any, notes: Notes, where: str) -> Any:
    """Return `value` with every lone surrogate replaced; nesting is already known to be shallow."""
    if isinstance(value, str):
        text, count = _SURROGATE.subn("\ufffd", value)
        notes.add("lone surrogates replaced by U+FFFD", where, count)
        return text
    if isinstance(value, list):
        return [_repaired(part, notes, where) for part in value]
    if isinstance(value, dict):
        return _object([(_repaired(key, notes, where), _repaired(part, notes, where)) for key, part in value.items()])
    return value
