"""PostgreSQL as a first stage, by psycopg 3 (extra ``postgres``): full text of a table, or a query of the user.

Values reach the server as parameters and names as quoted identifiers; nothing is put into the text of a query. Each
search is a connection of its own, read-only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from longrank.collections.databases import parse_address
from longrank.collections.postgresql import connected
from longrank.errors import InputError, MissingExtra, first_line
from longrank.formats.records import Record
from longrank.formats.rows import records_of
from longrank.retrieval.encoding import QueryEncoder
from longrank.retrieval.stores.found import Found, documents_of, scored
from longrank.retrieval.stores.postgres_settings import RANK, PostgresSettings, by_ids, search_of_table
from longrank.retrieval.stores.settings import settings_of
from longrank.types import Document, Notes, Query

_FIXES = {
    "42P01": "see `table` or `sql`",  # undefined_table
    "42703": "see `id`, `title`, `text`, `metadata` and `tsvector`, or `sql`",  # undefined_column
    "42501": "grant SELECT on it to this user",  # insufficient_privilege
    "57014": "raise `timeout`, or give the table an index: docs/candidates.md",  # query_canceled
    "22P02": "ids of the run must fit the column of the ids",  # invalid_text_representation
    "42704": "see `language`: SELECT cfgname FROM pg_ts_config lists them",  # undefined_object
}
"""SQLSTATE -> cure."""


class Postgres:
    """Candidates from PostgreSQL.

    Args:
        path: file of the settings.
        settings: its content.

    Raises:
        InputError: wrong settings.
        MissingExtra: psycopg is not installed.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        try:
            import psycopg.sql  # noqa: F401
        except ImportError:
            raise MissingExtra("searching PostgreSQL", "postgres") from None
        self._path = path
        self._settings = settings_of(PostgresSettings, settings, path)
        self.analyzer = self._settings.chosen_analyzer()
        self._address = parse_address(self._settings.url)
        if self._address.scheme not in ("postgres", "postgresql") or self._address.query:
            fix = "write postgresql://USER@HOST/NAME; the query stands in `sql`"
            raise InputError("`url` is not the address of a PostgreSQL database", path=path, fix=fix)
        encoder = self._settings.encoder
        self._encoder = None if encoder is None else QueryEncoder(encoder)

    def search(self, query: Query, k: int, notes: Notes) -> list[Found]:
        """Return at most `k` documents; without a column ``score``, the score is 1 / rank. Raises as `Store.search`."""
        values: dict[str, Any] = {"query": query.text.replace("\0", " "), "k": k}
        if self._encoder is not None:
            values["vector"] = f"[{','.join(map(repr, self._encoder.vector(query, notes)))}]"
        self._settings.note_analyzer(notes)
        statement = self._settings.sql or search_of_table(self._settings)
        rows = self._rows(statement, values, k)
        return scored([self._apart(record) for record in rows], self._address.place, notes)

    def documents(self, doc_ids: Sequence[str], notes: Notes) -> list[Document]:
        """Return the documents with these ids. Raises as `Store.documents`, or `documents` is not set."""
        settings = self._settings
        if settings.sql is not None and settings.documents is None:
            fix = 'set documents = "SELECT id AS doc_id, ... WHERE id = ANY(%(ids)s)"'
            raise InputError("`sql` alone cannot give documents by their ids", path=self._path, fix=fix)
        settings.note_analyzer(notes)
        rows = self._rows(settings.documents or by_ids(settings), {"ids": _array(doc_ids)}, None)
        return documents_of((self._apart(record)[0] for record in rows), self._address.place, notes)

    def _rows(self, statement: Any, values: dict[str, Any], k: int | None) -> list[Record]:
        with connected(self._address) as connection, self._refusals(), connection.cursor() as cursor:
            milliseconds = str(max(1, round(1000 * self._settings.timeout)))
            cursor.execute("SELECT set_config('statement_timeout', %s, false)", (milliseconds,))
            cursor.execute(statement, values)
            if cursor.description is None:
                raise InputError("the query returns no rows", path=self._path, fix="write SELECT ...")
            rows = cursor.fetchall() if k is None else cursor.fetchmany(k)
            return list(records_of([column.name for column in cursor.description], rows, self._address.place))

    def _apart(self, record: Record) -> tuple[Record, Any]:
        """Return a record without the column of its score, and the score."""
        values = dict(record.values)
        score = values.pop(RANK if self._settings.sql is None else "score", None)
        return record._replace(values=values), score

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """Turn errors of a query into one line that names the settings."""
        import psycopg

        try:
            yield
        except psycopg.OperationalError as error:
            if error.sqlstate is None:
                raise  # the connection is lost
            raise self._refused(error) from None
        except psycopg.Error as error:
            raise self._refused(error) from None

    def _refused(self, error: Any) -> InputError:
        fix = _FIXES.get(error.sqlstate or "")
        if error.sqlstate is None and self._settings.sql is not None:  # psycopg's own, of placeholders
            fix = "placeholders are %(query)s, %(k)s, %(vector)s and %(ids)s; write %% for a percent sign"
        return InputError(f"PostgreSQL refuses: {first_line(error)}", path=self._path, fix=fix)


def _array(values: Sequence[str]) -> str:
    """Return values as PostgreSQL writes an array; the server gives it the type of the column."""
    escaped = (value.replace("\\", "\\\\").replace('"', '\\"') for value in values)
    listed = ",".join(f'"{value}"' for value in escaped)
    return f"{{{listed}}}"
