"""Rows of tables to records: columns are named as the fields of JSONL."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.formats.jsonl import id_of
from longrank.formats.lines import Line
from longrank.formats.records import ID_KEYS, Record


def records_of(names: Sequence[str], rows: Iterable[Sequence[Any]], place: Path) -> Iterator[Record]:
    """Yield a record for each row of a table; the row's number from 1 is its line.

    Args:
        names: names of the columns: an id (one of `ID_KEYS`) and any others.
        rows: the values, in the order of `names`. An id may be text, an integer or a UUID.
        place: the table, for messages.

    Raises:
        InputError: no column of ids, two columns of one name, or a row without a usable id.
    """
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise InputError("two columns have one name", path=place, got=twice, fix="name them apart: column AS name")
    key = next((key for key in ID_KEYS if key in names), None)
    if key is None:
        raise InputError("no column of ids", path=place, got=", ".join(names), fix=f"name it {' or '.join(ID_KEYS)}")
    at = names.index(key)
    for number, row in enumerate(rows, 1):
        doc_id = id_of({key: _plain(row[at])}, ID_KEYS, Line(number, "", True), place)
        yield Record(doc_id, dict(zip(names, row, strict=True)) | {key: doc_id}, number)


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        return int(value)
    return str(value) if isinstance(value, uuid.UUID) else value
