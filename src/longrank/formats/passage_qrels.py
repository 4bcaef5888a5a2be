"""Judgments of passages: by the passage's number in its document, or as a span of the document's text.

    query_id 0 doc_id#passage grade       passages of the document's source, from 0
    query_id doc_id start end grade       half-open offsets in code points

The number of columns of the first row decides the form of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from longrank.errors import InputError
from longrank.formats.columns import INTEGER, Table, numbers, split_columns, split_fields
from longrank.formats.lines import Block, read_blocks
from longrank.formats.trec import REPEATED, grades_of
from longrank.types import Notes, Span

_NUMBERED = ("query_id", "iteration", "doc_id#passage", "grade")
_SPANS = ("query_id", "doc_id", "start", "end", "grade")


class PassageJudgment(NamedTuple):
    """The grade of a passage of a document: its number, or its span; `line` is its place in the file."""

    query_id: str
    doc_id: str
    passage: int | Span
    grade: int
    path: Path
    line: int | None


def read_passage_judgments(path: Path, notes: Notes) -> list[PassageJudgment]:
    """Read the judgments of a file, ``.gz`` or not, in either form.

    Args:
        path: the file. Blank lines and lines that begin with ``#`` are skipped.
        notes: counts lines that begin with ``#``, and repeated judgments with the same grade.

    Raises:
        InputError: no judgment, a row of another shape, a passage id without number, an offset or a grade that is no
            integer, or a passage with two different grades.
    """
    known: dict[tuple[str, str, int | Span], PassageJudgment] = {}
    for row in _rows(path, notes):
        first = known.setdefault(row[:3], row)
        if first.grade != row.grade:
            what = f"passage is judged twice for query {row.query_id}: {first.grade} on line {first.line}"
            what += f", {row.grade} here"
            raise InputError(what, path=path, line=row.line, got=f"{row.doc_id} {row.passage}")
        notes.add(REPEATED, f"{path}:{row.line}", first is not row)
    if not known:
        raise InputError("holds no judgment", path=path)
    return list(known.values())


def _rows(path: Path, notes: Notes) -> Iterator[PassageJudgment]:
    names: tuple[str, ...] | None = None
    for block in read_blocks(path, notes):
        names = names or _form(block)
        if names is not None:
            table = split_columns(block, names, path, comments=notes)
            places = (_spans if names is _SPANS else _numbered)(table, path)
            grades = grades_of(table.columns[-1], table.lines, path)
            for query_id, (doc_id, passage), grade, line in zip(
                table.columns[0], places, grades, table.lines, strict=True
            ):
                yield PassageJudgment(query_id, doc_id, passage, grade, path, line)


def _form(block: Block) -> tuple[str, ...] | None:
    """Return the columns by the first row; None if the block has only comments."""
    rows = (split_fields(line) for line in block.text.split("\n"))
    first = next((row for row in rows if row and not row[0].startswith("#")), None)
    return None if first is None else _SPANS if len(first) == len(_SPANS) else _NUMBERED


def _spans(table: Table, path: Path) -> list[tuple[str, int | Span]]:
    _, doc_ids, *offsets, _ = table.columns
    starts, ends = (
        numbers(column, table.lines, INTEGER, name, path)
        for column, name in zip(offsets, ("start", "end"), strict=True)
    )
    return list(zip(doc_ids, zip(starts, ends, strict=True), strict=True))


def _numbered(table: Table, path: Path) -> list[tuple[str, int | Span]]:
    parts = [passage.rpartition("#") for passage in table.columns[2]]
    for (doc_id, _, number), passage, line in zip(parts, table.columns[2], table.lines, strict=True):
        if not doc_id or not (number.isascii() and number.isdigit() and len(number) <= INTEGER.max_length):
            fix = "a passage id is the document's id, # and the passage's number from 0"
            raise InputError("passage id has no number", path=path, line=line, got=passage, fix=fix)
    return [(doc_id, int(number)) for doc_id, _, number in parts]
