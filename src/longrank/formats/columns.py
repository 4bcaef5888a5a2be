"""Rows of a fixed number of columns separated by spaces and tabs, a block of the file at a time.

A block is split and checked as a whole, which is several times faster than row by row. Only a block with a
fault is searched for the faulty row. Numbers are plain ASCII: ``1_000``, ``1,5``, ``nan`` and digits of other
scripts are refused, though Python's ``float`` or trec_eval accept them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from longrank.errors import InputError
from longrank.formats.lines import Block
from longrank.types import Notes

_BLANKS = re.compile(r"[ \t]+")
_ROW = re.compile(r"[^ \t\n][^\n]*")
_CONTROL = bytes([*range(1, 9), *range(11, 32), 127])
_MARK = "\ufeff"  # invisible, so an id with it looks like another and matches nothing
_ROW_END = "\x01"  # a control character, so no field is equal to it


class NumberKind(NamedTuple):
    """A notation of numbers: a text of `letters` that `convert` accepts matches `pattern`."""

    name: str
    convert: Callable[[str], Any]
    letters: bytes
    pattern: re.Pattern[str]
    max_length: int


INTEGER = NumberKind("an integer", int, b"+-0123456789", re.compile(r"[+-]?[0-9]+"), 18)
REAL = NumberKind(
    "a number", float, b"+-.eE0123456789", re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"), 400
)


class Table(NamedTuple):
    """The columns of a block, and the file's line of each row."""

    lines: Sequence[int]
    columns: list[list[str]]


def split_columns(block: Block, names: Sequence[str], path: Path, *, comments: Notes | None = None) -> Table:
    """Split a block into columns; blank lines are skipped, and lines that begin with ``#`` if `comments` counts them.

    Args:
        block: whole lines.
        names: the name of each column.
        path: the file, for messages.
        comments: counts the lines that begin with ``#``, which are comments; None: they are rows.

    Raises:
        InputError: a row with another number of columns, a control character or a byte-order mark.
    """
    _refuse_controls(block, path)
    if "\n\n" in block.text:
        return _split_rows(block, names, path, comments)
    width = len(names) + 1  # of a row and the mark that ends it
    n_rows = block.text.count("\n") + 1
    fields = split_fields(f"{block.text}\n".replace("\n", f" {_ROW_END} "))
    if (
        len(fields) != n_rows * width
        or set(fields[width - 1 :: width]) != {_ROW_END}
        or (comments is not None and "#" in block.text)
    ):
        return _split_rows(block, names, path, comments)
    return Table(range(block.first, block.first + n_rows), [fields[i::width] for i in range(len(names))])


def _split_rows(block: Block, names: Sequence[str], path: Path, comments: Notes | None) -> Table:
    """Split row by row, for a block in which some lines are not rows."""
    kept = []
    for line, row in _rows(block):
        if comments is not None and row[0].startswith("#"):
            comments.add("lines that begin with #, skipped as comments", f"{path}:{line}")
        else:
            kept.append((line, row))
    for i, (line, row) in enumerate(kept, 1):
        if len(row) != len(names):
            what = f"{len(row)} column{'s' * (len(row) > 1)} instead of {len(names)}"
            if line > 1 and not block.ended and i == len(kept) and len(row) < len(names):
                what = f"the file looks truncated: {what} in a last line without end"
            fix = f"a row is: {' '.join(names)}{_resemblance(row)}"
            raise InputError(what, path=path, line=line, got=" ".join(row), fix=fix)
    return Table([line for line, _ in kept], [[row[i] for _, row in kept] for i in range(len(names))])


def _rows(block: Block) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the fields of every line that is not blank; a million blank lines cost nothing."""
    line, counted = block.first, 0
    for row in _ROW.finditer(block.text):
        line += block.text.count("\n", counted, row.start())
        counted = row.start()
        yield line, split_fields(row[0])


def _resemblance(row: Sequence[str]) -> str:
    """Describe the kind of file that a wrong row seems to come from: files are easily given in the wrong order."""
    numeric = [INTEGER.pattern.fullmatch(field) is not None for field in row]
    if row[0].startswith(("{", "[")):
        return "; this looks like JSON"
    if row[0].startswith("<"):
        return "; this looks like SGML or XML"
    if len(row) == 4 and numeric[3]:
        return "; this looks like judgments"
    if len(row) == 6 and numeric[3]:
        return "; this looks like a run"
    return ""


def _refuse_controls(block: Block, path: Path) -> None:
    raw = block.text.encode("utf-8", "surrogatepass")
    if len(raw.translate(None, _CONTROL)) == len(raw) and _MARK not in block.text:
        return
    for line, text in enumerate(block.text.split("\n"), block.first):
        if not set(text).isdisjoint(_CONTROL.decode()):
            raise InputError("holds a control character", path=path, line=line, got=text)
        if _MARK in text:
            what, fix = "holds a byte-order mark", "remove it; joined files have such marks in the middle"
            raise InputError(what, path=path, line=line, got=text, fix=fix)


def split_fields(text: str) -> list[str]:
    """Split at spaces and tabs only; ``str.split`` does the same for a text without other white space."""
    return text.split() if text.isascii() else [field for field in _BLANKS.split(text) if field]


def numbers(column: Sequence[str], lines: Sequence[int], kind: NumberKind, what: str, path: Path) -> list[Any]:
    """Convert a column of numbers.

    Args:
        column: the fields.
        lines: the line of each field.
        kind: INTEGER (at most 18 characters) or REAL (at most 400).
        what: the column's name in messages: ``"score"``.
        path: the file.

    Raises:
        InputError: a field is not a number of `kind`.
    """
    if max(map(len, column), default=0) <= kind.max_length and not _foreign(column, kind.letters):
        with suppress(ValueError):
            return list(map(kind.convert, column))
    for field, line in zip(column, lines, strict=True):
        if len(field) > kind.max_length or not kind.pattern.fullmatch(field):
            raise InputError(f"{what} is not {kind.name}", path=path, line=line, got=field)
    raise AssertionError("a converter and its pattern disagree")


def _foreign(column: Sequence[str], letters: bytes) -> bytes:
    return "".join(column).encode("utf-8", "surrogatepass").translate(None, letters)
