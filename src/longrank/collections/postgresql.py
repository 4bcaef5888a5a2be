"""Rows of PostgreSQL, by psycopg 3 (extra ``postgres``), in a read-only transaction and by a server-side cursor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from longrank.collections.databases import Address
from longrank.errors import InputError, MissingExtra, first_line
from longrank.formats.records import Record
from longrank.formats.rows import records_of

_ROWS = 1000  # rows fetched at a time
_FIX = "a password may stand in PGPASSWORD or ~/.pgpass"


def read_rows(address: Address) -> Iterator[Record]:
    """Yield the rows of a query, `_ROWS` at a time.

    Raises:
        InputError: the server cannot be reached, it refuses the query, or a row has no usable id.
        MissingExtra: psycopg is not installed.
    """
    with connected(address) as connection, connection.cursor("longrank") as cursor:
        cursor.itersize = _ROWS
        cursor.execute(address.query)
        names = [column.name for column in cursor.description or ()]
        yield from records_of(names, cursor, address.place)


@contextmanager
def connected(address: Address) -> Iterator[Any]:
    """Connect to a database for reading; errors of psycopg become one line without the password.

    Raises:
        InputError: as `read_rows`.
        MissingExtra: psycopg is not installed.
    """
    psycopg = _psycopg()
    opened = False
    try:
        with psycopg.connect(address.location, connect_timeout=10, **address.secrets) as connection:
            opened, connection.read_only = True, True
            yield connection
    except psycopg.Error as error:
        what, message = "PostgreSQL refuses" if opened else "cannot connect to PostgreSQL", first_line(error)
        for secret in filter(None, address.secrets.values()):
            message = message.replace(secret, "***")
        got, fix = (address.query or None, None) if opened else (None, _FIX)
        raise InputError(f"{what}: {message}", path=address.place, got=got, fix=fix) from None


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("reading PostgreSQL", "postgres") from None
    return psycopg
