"""Rows of MS MARCO's training triples: a line of query, relevant passage and other passage is two rows.

The published models saw 12.8 million rows, the first 6.4 million triples (Nogueira and Cho 2019: under 2 % of all).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from longrank.errors import InputError
from longrank.formats.lines import Line, read_lines
from longrank.training.passage_data.rows import Row
from longrank.types import Notes

_NAMES = ("query", "positive", "negative")


def msmarco_rows(path: Path, notes: Notes, n_triples: int | None = None) -> Iterator[Row]:
    """Yield two rows per triple, the relevant passage first; skip blank lines.

    Args:
        path: the file of triples, ``.gz`` or not.
        notes: counts missing triples.
        n_triples: triples to read, 1 or more; None: all.

    Raises:
        InputError: as `read_lines`, a number of columns other than three, an empty column, a
            line of ids, no triple at all, or `n_triples` below 1.
    """
    if n_triples is not None and n_triples < 1:
        raise InputError("the number of triples must be at least 1", got=n_triples)
    filled = (line for line in read_lines(path, notes) if line.text.strip(" "))
    n_read = 0
    for line in islice(filled, n_triples):
        query, positive, negative = _columns(line, path)
        yield Row(query, positive, 1)
        yield Row(query, negative, 0)
        n_read += 1
    if not n_read:
        raise InputError("holds no triple", path=path)
    notes.add("triples missing from the file", str(path), (n_triples or 0) - n_read)


def _columns(line: Line, path: Path) -> list[str]:
    columns = [column.strip() for column in line.text.split("\t")]
    if len(columns) != len(_NAMES):
        what = f"{len(columns)} column{'s' if len(columns) > 1 else ''} instead of {len(_NAMES)}"
        what += "" if line.ended or len(columns) > len(_NAMES) else "; the file looks truncated"
        raise InputError(what, path=path, line=line.number, got=line.text, fix=f"a row is: {' <tab> '.join(_NAMES)}")
    if all(column.isdecimal() for column in columns):
        fix = "the triples of texts are in triples.train.small.tsv"
        raise InputError("holds ids, not texts", path=path, line=line.number, got=line.text, fix=fix)
    for name, column in zip(_NAMES, columns, strict=True):
        if not column:
            raise InputError(f"{name} is empty", path=path, line=line.number)
    return columns
