"""Rows of (query, text, label): JSONL of ``{"query": ..., "text": ..., "label": 0 or 1}``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from longrank.draws import shuffled
from longrank.errors import InputError
from longrank.formats.lines import Line
from longrank.storage import atomic_write
from longrank.training.passage_data.line_file import check_not_packed
from longrank.types import Query


class Row(NamedTuple):
    """A query, a text, and whether the text is relevant to it: 1 or 0."""

    query: str
    text: str
    label: int


def write_rows(rows: Iterable[Row], path: Path) -> dict[int, int]:
    """Write rows as they come; nothing is at `path` before all are written. Returns label -> number of rows.

    Raises:
        InputError: there is no row, the name ends in .gz, or the folder does not exist or cannot be written to; and
            what `rows` raises.
        LongRankError: writing failed (no space left, ...).
    """
    counts: Counter[int] = Counter()
    check_not_packed(path)
    with atomic_write(path, "w") as stream:
        for row in rows:
            counts[row.label] += 1
            stream.write(json.dumps(row._asdict(), ensure_ascii=False) + "\n")
        if not counts:
            raise InputError("not one row to write: nothing to train on", path=path)
    return dict(sorted(counts.items()))


def row_of(record: dict[str, Any], line: Line, path: Path) -> Row:
    """Return the row that the object on a line is.

    Raises:
        InputError: other keys than the three, a text that is no string or empty, or another label than 0 and 1;
            names the line.
    """
    if record.keys() != set(Row._fields):
        fix = 'a row is {"query": ..., "text": ..., "label": 0 or 1}'
        raise InputError("not the keys of a row", path=path, line=line.number, got=", ".join(record), fix=fix)
    for name in ("query", "text"):
        if not isinstance(record[name], str) or not record[name].strip():
            raise InputError(f"'{name}' is no text", path=path, line=line.number, got=record[name])
    if type(record["label"]) is not int or record["label"] not in (0, 1):
        raise InputError("'label' is neither 0 nor 1", path=path, line=line.number, got=record["label"])
    return Row(**record)


def split_queries(queries: Sequence[Query], n_dev: int, seed: int) -> tuple[list[Query], list[Query]]:
    """Return the queries to train on and `n_dev` to validate on, both in the order given.

    Raises:
        InputError: there would be none to train or to validate on.
    """
    if not 0 < n_dev < len(queries):
        raise InputError(f"of {len(queries)} queries some must train and some validate", got=n_dev)
    chosen = set(shuffled([query.query_id for query in queries], seed)[:n_dev])
    return [q for q in queries if q.query_id not in chosen], [q for q in queries if q.query_id in chosen]
