"""Rows of (query, text, label): JSONL of ``{"query": ..., "text": ..., "label": 0 or 1}``."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from longrank.draws import shuffled
from longrank.errors import InputError
from longrank.formats.lines import Line
from longrank.storage import atomic_write
from longrank.storage.files import sync_folder, writing
from longrank.text.words import readable
from longrank.types import Query


class Row(NamedTuple):
    """A query, a text, and a label: 1 if the text is relevant to the query, else 0."""

    query: str
    text: str
    label: int


def write_rows(rows: Iterable[Row], path: Path, *, before: Path | None = None) -> dict[int, int]:
    """Write rows as they come; return label -> number of rows. `before`: as for `write_records`.

    Raises:
        InputError, LongRankError: as `write_records`.
    """
    counts: Counter[int] = Counter()

    def records() -> Iterator[dict[str, Any]]:
        for row in rows:
            counts[row.label] += 1
            yield row._asdict()

    write_records(records(), path, "row", before=before)
    return dict(sorted(counts.items()))


def write_records(records: Iterable[Mapping[str, Any]], path: Path, noun: str, *, before: Path | None = None) -> int:
    """Write JSON lines as they come; return their number. Nothing is at `path` before all are written.

    Args:
        records: the objects of the lines.
        path: the file.
        noun: name of a record, for messages.
        before: the counterpart that an earlier call wrote, removed right before the new file appears: a kill or a full
            disk must not leave files of two calls.

    Raises:
        InputError: no record, a name that ends in .gz, or a folder that does not exist or cannot be written to; and
            faults of `records`.
        LongRankError: writing failed (no space left, ...).
    """
    n = 0
    check_not_packed(path)
    with atomic_write(path, "w", None if before is None else partial(_remove, before)) as stream:
        for record in records:
            line = json.dumps(record, ensure_ascii=False)
            is_text = readable(line) == line  # else escaped: readers count lone surrogates
            stream.write((line if is_text else json.dumps(record)) + "\n")
            n += 1
        if not n:
            raise InputError(f"no {noun} to write, so there is nothing to train on", path=path)
    return n


def _remove(path: Path) -> None:
    real = Path(os.path.realpath(path))  # a link stays a link
    with writing(path):
        real.unlink(missing_ok=True)
        sync_folder(real.parent)


def check_not_packed(path: Path) -> None:
    """Refuse the name of a packed file, to read or to write.

    Raises:
        InputError: such a name.
    """
    if path.name.lower().endswith(".gz"):
        raise InputError("lines of a packed file cannot be read by number", path=path, fix="unpack it")


def row_of(record: dict[str, Any], line: Line, path: Path) -> Row:
    """Return the row of a line's object.

    Raises:
        InputError: keys, texts or a label that a row cannot have; names the line.
    """
    if record.keys() != set(Row._fields):
        fix = 'a row is {"query": ..., "text": ..., "label": 0 or 1}'
        raise InputError("not the keys of a row", path=path, line=line.number, got=", ".join(record), fix=fix)
    for name in ("query", "text"):
        if not isinstance(record[name], str) or not record[name].strip():
            raise InputError(f"'{name}' is not a text", path=path, line=line.number, got=record[name])
    if type(record["label"]) is not int or record["label"] not in (0, 1):
        raise InputError("'label' is neither 0 nor 1", path=path, line=line.number, got=record["label"])
    return Row(**record)


def split_queries(queries: Sequence[Query], n_dev: int, seed: int) -> tuple[list[Query], list[Query]]:
    """Return the queries to train on and `n_dev` queries to validate on, both in their order.

    Raises:
        InputError: one of the two parts would be empty.
    """
    if not 0 < n_dev < len(queries):
        raise InputError(f"of {len(queries)} queries some must train and some validate", about=("queries",), got=n_dev)
    chosen = set(shuffled([query.query_id for query in queries], seed)[:n_dev])
    return [q for q in queries if q.query_id not in chosen], [q for q in queries if q.query_id in chosen]
