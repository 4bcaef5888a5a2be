"""Rows of a fixed number of columns separated by spaces and tabs, a block of the file at a time.

A block is split and checked as a whole, which is several times faster than row by row; only where it
is found wanting is it searched for the row to blame. Numbers are plain ASCII: no ``1_000``,
no ``1,5``, no ``nan``, no digits of other scripts, all of which Python's ``float`` or trec_eval take.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from longrank.errors import InputError
from longrank.formats.lines import Block

_BLANKS = re.compile(r"[ \t]+")
_ROW = re.compile(r"[^ \t\n][^\n]*")
_CONTROL = bytes([*range(1, 9), *range(11, 32), 127])
_MARK = "\ufeff"  # invisible, so an id with it looks like another and matches nothing
_ROW_END = "\x01"  # a control character, so no field is equal to it


class NumberKind(NamedTuple):
    """A way to write numbers: `convert` takes nothing but `pattern` once only its `letters` are there."""

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
    """The rows of a block, column by column, and the line of the file that each row comes from."""

    lines: Sequence[int]
    columns: list[list[str]]


def split_columns(block: Block, names: Sequence[str], path: Path, *, comments: bool = False) -> Table:
    """Split a block into columns; blank lines are passed over, and lines that begin with ``#`` if `comments`.

    Args:
        block: whole lines.
        names: the name of each column.
        path: the file, for messages.
        comments: whether a line that begins with ``#`` is a comment.

    Raises:
        InputError: a row with another number of columns, a control character or a byte-order mark.
    """
    _refuse_controls(block, path)
    if "\n\n" in block.text:
        return _split_rows(block, names, path, comments)
    width = len(names) + 1  # of a row and the mark that ends it
    n_rows = block.text.count("\n") + 1
    fields = _fields(f"{block.text}\n".replace("\n", f" {_ROW_END} "))
    if (
        len(fields) != n_rows * width
        or set(fields[width - 1 :: width]) != {_ROW_END}
        or (comments and "#" in block.text)
    ):
        return _split_rows(block, names, path, comments)
    return Table(range(block.first, block.first + n_rows), [fields[i::width] for i in range(len(names))])


def _split_rows(block: Block, names: Sequence[str], path: Path, comments: bool) -> Table:
    """Do the same row by row, where some lines are no rows."""
    kept = [(line, row) for line, row in _rows(block) if not (comments and row[0].startswith("#"))]
    for i, (line, row) in enumerate(kept, 1):
        if len(row) != len(names):
            what = f"{len(row)} column{'s' * (len(row) > 1)} instead of {len(names)}"
            if line > 1 and not block.ended and i == len(kept) and len(row) < len(names):
                what = f"the file looks truncated: {what} in a last line without end"
            fix = f"a row is: {' '.join(names)}{_resemblance(row)}"
            raise InputError(what, path=path, line=line, got=" ".join(row), fix=fix)
    return Table([line for line, _ in kept], [[row[i] for _, row in kept] for i in range(len(names))])


def _rows(block: Block) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the fields of every line that has some; a million blank lines cost nothing."""
    line, counted = block.first, 0
    for row in _ROW.finditer(block.text):
        line += block.text.count("\n", counted, row.start())
        counted = row.start()
        yield line, _fields(row[0])


def _resemblance(row: Sequence[str]) -> str:
    """Say what a row looks like that is not what it should be: files are easily given in the wrong order."""
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
            what, fix = "holds a byte-order mark", "remove it; files that were joined have them in the middle"
            raise InputError(what, path=path, line=line, got=text, fix=fix)


def _fields(text: str) -> list[str]:
    """Split at spaces and tabs only, which ``str.split`` does where there is no other white space."""
    return text.split() if text.isascii() else [field for field in _BLANKS.split(text) if field]


def numbers(column: Sequence[str], lines: Sequence[int], kind: NumberKind, what: str, path: Path) -> list[Any]:
    """Convert a column of numbers.

    Args:
        column: the fields.
        lines: the line of each.
        kind: INTEGER (at most 18 characters) or REAL (at most 400).
        what: what they are, for the message: ``"score"``.
        path: the file.

    Raises:
        InputError: a field is not written as `kind` says.
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
