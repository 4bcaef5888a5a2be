"""Rows of a fixed number of columns separated by spaces and tabs, a block of the file at a time.

A block is checked column by column, which is several times faster than row by row; only where a
column is found wanting is it searched for the row to blame. Numbers are plain ASCII: no ``1_000``,
no ``1,5``, no ``nan``, no digits of other scripts, all of which Python's ``float`` or trec_eval take.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from longrank.errors import InputError
from longrank.formats.lines import Block

_BLANKS = re.compile(r"[ \t]+")
_CONTROL = bytes([*range(1, 9), *range(11, 32), 127])


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


class Rows(NamedTuple):
    """The rows of a block, and the line of the file that each comes from."""

    lines: Sequence[int]
    fields: list[list[str]]


def split_rows(block: Block, columns: Sequence[str], path: Path, *, comments: bool = False) -> Rows:
    """Split a block into rows; blank lines are passed over, and lines that begin with ``#`` if `comments`.

    Args:
        block: whole lines.
        columns: the name of each column.
        path: the file, for messages.
        comments: whether a line that begins with ``#`` is a comment.

    Raises:
        InputError: a row with another number of columns, or a control character.
    """
    split = _splitter(block, path)
    fields = [split(line) for line in block.text.split("\n")]
    lines: Sequence[int] = range(block.first, block.first + len(fields))
    comments = comments and "#" in block.text
    if comments or set(map(len, fields)) != {len(columns)}:
        kept = [i for i, row in enumerate(fields) if row and not (comments and row[0].startswith("#"))]
        lines, fields = [lines[i] for i in kept], [fields[i] for i in kept]
        _check_widths(lines, fields, columns, block, path)
    return Rows(lines, fields)


def _check_widths(
    lines: Sequence[int], fields: list[list[str]], columns: Sequence[str], block: Block, path: Path
) -> None:
    wrong = next((i for i, row in enumerate(fields) if len(row) != len(columns)), None)
    if wrong is None:
        return
    what = f"{len(fields[wrong])} columns instead of {len(columns)}"
    if not block.ended and wrong == len(fields) - 1 and len(fields[wrong]) < len(columns):
        what = f"the file looks truncated: {what} in a last line without end"
    got, fix = " ".join(fields[wrong]), f"a row is: {' '.join(columns)}"
    raise InputError(what, path=path, line=lines[wrong], got=got, fix=fix)


def _splitter(block: Block, path: Path) -> Callable[[str], list[str]]:
    """Return what splits a line at spaces and tabs only; ``str.split`` does where no other white space is."""
    raw = block.text.encode("utf-8", "surrogatepass")
    if len(raw.translate(None, _CONTROL)) < len(raw):
        for number, text in enumerate(block.text.split("\n"), block.first):
            if any(ord(c) in _CONTROL for c in text):
                raise InputError("holds a control character", path=path, line=number, got=text)
    return str.split if block.text.isascii() else _split_blanks


def _split_blanks(line: str) -> list[str]:
    return [field for field in _BLANKS.split(line) if field]


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
