"""Rows of SQLite files, by Python's own ``sqlite3``; the file is opened for reading only."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from longrank.collections.databases import Address
from longrank.errors import InputError, first_line
from longrank.formats.records import Record
from longrank.formats.rows import records_of


def read_rows(address: Address) -> Iterator[Record]:
    """Yield the rows of a query.

    Raises:
        InputError: no such file, not a file of SQLite, a wrong query, or a row without a usable id.
    """
    path = address.place
    if not path.is_file():
        raise InputError("no such file", path=path)
    try:
        with closing(sqlite3.connect(f"{Path(path).as_uri()}?mode=ro", uri=True)) as connection:
            cursor = connection.execute(address.query)
            if cursor.description is None:
                raise InputError("the query returns no rows", path=path, got=address.query, fix="write SELECT ...")
            yield from records_of([column[0] for column in cursor.description], cursor, path)
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise InputError(f"SQLite refuses: {first_line(error)}", path=path, got=address.query) from None
