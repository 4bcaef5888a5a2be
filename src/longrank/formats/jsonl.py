"""Strict reader of one JSON object per line, for documents and queries."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.formats.ids import check_id
from longrank.formats.lines import DEFAULT_TEXT, JSON_IN_MEMORY, Line, TextOptions, read_blocks, read_lines
from longrank.formats.strict_json import Fault, explained, parse, without_surrogates
from longrank.types import Notes

SURROGATES = "lone surrogates replaced by U+FFFD"


def read_objects(
    path: Path, notes: Notes, options: TextOptions = DEFAULT_TEXT
) -> Iterator[tuple[Line, dict[str, Any]]]:
    """Yield every line of a JSONL file with the object it holds; blank lines are skipped.

    Raises:
        InputError: as `read_lines` and `parse_object`.
    """
    for line in read_lines(path, notes, options):
        if line.text.strip(" \t\r"):
            yield line, parse_object(line, path, notes)


def parse_object(line: Line, path: Path, notes: Notes) -> dict[str, Any]:
    """Return the JSON object that is the whole of `line`.

    Lone surrogates (``"\\ud800"``) are not text: they become U+FFFD and are counted.

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


def read_json(path: Path, notes: Notes, options: TextOptions = JSON_IN_MEMORY) -> Any:
    """Return the value that a whole file holds, as strictly as `parse_object`.

    Raises:
        InputError: as `read_lines` and `parse_object`; any JSON value is accepted.
    """
    blocks = list(read_blocks(path, notes, options))
    text = "\n".join(block.text for block in blocks)
    if not text.strip():
        raise InputError("is empty", path=path)
    return _strict(Line(1, text, blocks[-1].ended), path, notes)


def _strict(line: Line, path: Path, notes: Notes) -> Any:
    try:
        value, replaced = without_surrogates(line.text, parse(line.text))
    except Fault as fault:
        raise InputError(fault.what, path=path, line=line.number, got=fault.got) from None
    except json.JSONDecodeError as error:
        number = line.number + error.lineno - 1
        what = explained(error)
        cut = error.pos >= len(line.text.rstrip()) or error.msg.startswith("Unterminated")
        what += "; the file looks truncated" if cut and not line.ended else ""
        got = line.text.split("\n")[error.lineno - 1]
        raise InputError(what, path=path, line=number, got=got) from None
    notes.add(SURROGATES, f"{path}:{line.number}", replaced)
    return value


def id_of(record: dict[str, Any], keys: Sequence[str], line: Line, path: Path) -> str:
    """Return the id under the first of `keys` that the record has; the number 7 is the id "7".

    Raises:
        InputError: none of the keys, or a value that is neither a usable id nor an integer.
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
