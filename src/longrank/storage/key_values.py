"""A file of values by key that several processes may share (SQLite), for values that can be computed again.

A transaction is whole or absent, even if its process is killed: the next process to open the file undoes a partial
transaction. There is no write-ahead log, which needs shared memory and so fails on network folders. Locks are held
for milliseconds; other processes wait. Each value is stored with the CRC-32 of key and value.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from longrank.errors import InputError, IntegrityError, LongRankError
from longrank.storage.files import check_writable

_WAIT = 60  # seconds for the lock of another process
_KIND, _VERSION = 0x4C524B56, 1  # "LRKV", in the file's header
_CHECKSUM = 4  # bytes
_ANEW = "name another file, and its values are computed again"


class KeyValues:
    """Values by key; a stored value never changes.

    A missing file is created. Each call opens the file anew, so threads and child processes may share an object.

    Args:
        path: the file.
        what: noun for the file in messages.

    Raises:
        InputError: the file cannot be created or written to, or is another kind of file.
        IntegrityError: the file is damaged. All methods raise these errors, too, and LongRankError: no space left, or
            another process keeps the file locked.
    """

    def __init__(self, path: Path, what: str) -> None:
        check_writable(path)
        self.path, self._what = path, what
        self._address = path.absolute().as_uri()  # the working folder may change
        with self._errors(), closing(self._connected("rwc")) as file:
            file.execute("BEGIN IMMEDIATE")
            self._check_or_make(file)
            file.execute("COMMIT")

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the stored values of these keys."""
        with self._errors(), closing(self._connected("rw")) as file:
            file.execute("BEGIN")
            return self._stored(file, keys)

    def add(self, values: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        """Store values in one transaction; keys that have values keep them. Return the values of all these keys."""
        with self._errors(), closing(self._connected("rw")) as file:
            file.execute("BEGIN IMMEDIATE")
            entries = ((key, value + _checksum(key, value)) for key, value in values.items())
            file.executemany("INSERT OR IGNORE INTO entries VALUES (?, ?)", entries)
            stored = self._stored(file, values)
            file.execute("COMMIT")
            return stored

    def _stored(self, file: sqlite3.Connection, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        rows = ((key, file.execute("SELECT value FROM entries WHERE key = ?", (key,)).fetchone()) for key in keys)
        return {key: self._checked(key, row[0]) for key, row in rows if row is not None}

    def _checked(self, key: bytes, entry: bytes) -> bytes:
        value = entry[:-_CHECKSUM]
        if entry[-_CHECKSUM:] != _checksum(key, value):
            raise IntegrityError(f"{self.path}: damaged; {_ANEW}")
        return value

    def _connected(self, mode: str) -> sqlite3.Connection:
        return sqlite3.connect(f"{self._address}?mode={mode}", uri=True, timeout=_WAIT, isolation_level=None)

    def _check_or_make(self, file: sqlite3.Connection) -> None:
        kind, version, tables = (
            file.execute(query).fetchone()[0]
            for query in ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
        )
        if not kind and not tables:
            file.execute(f"PRAGMA application_id = {_KIND}")
            file.execute(f"PRAGMA user_version = {_VERSION}")
            file.execute("CREATE TABLE entries (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID")
        elif (kind, version) != (_KIND, _VERSION):
            raise self._other("another database, or another version")

    def _other(self, what: str) -> InputError:
        return InputError(f"exists and is no {self._what}", path=self.path, got=what, fix="name another file")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
            if code == sqlite3.SQLITE_NOTADB:
                raise self._other("no database") from None
            if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT):
                raise IntegrityError(f"{self.path}: damaged ({error}); {_ANEW}") from None
            if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
                raise InputError(f"cannot be opened for writing: {error}", path=self.path) from None
            raise LongRankError(f"{self.path}: {error}") from error


def _checksum(key: bytes, value: bytes) -> bytes:
    return zlib.crc32(key + value).to_bytes(_CHECKSUM, "little")
