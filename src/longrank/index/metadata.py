"""Metadata of documents in a SQLite file beside the arrays.

    metadata.sqlite
        fields   number, name             in the order in which documents first have them
        cells    field, document, value   JSON text; sorted by field, so that a field is read alone

The file is written only if a document has metadata, and never changes. Equal documents give equal bytes: rows are
copied in the order of their keys, and the version of SQLite is left out of the header.
"""

from __future__ import annotations

import json
import sqlite3
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import groupby
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.config import suggestion
from longrank.errors import InputError, IntegrityError, LongRankError
from longrank.index.columns import Column
from longrank.index.remembered import Remembered

NAME = "metadata.sqlite"
MAX_FIELDS = 1000
"""Largest number of different fields in an index."""

_KIND, _VERSION = 0x4C524D44, 1  # "LRMD", in the file's header
_WRITER = 96  # place of the version of the SQLite that wrote the file


def write_metadata(folder: Path, documents: Iterable[tuple[int, str]]) -> None:
    """Write the metadata file of an index.

    Args:
        folder: folder of the file, which must not exist yet.
        documents: (number, JSON object) of the documents with metadata, in the order of their numbers.

    Raises:
        InputError: more than `MAX_FIELDS` different fields.
        LongRankError: writing failed.
    """
    work, path = folder / f".{NAME}", folder / NAME
    try:
        with closing(sqlite3.connect(work, isolation_level=None)) as file:
            for statement in ("journal_mode = OFF", "synchronous = OFF", f"application_id = {_KIND}"):
                file.execute(f"PRAGMA {statement}")
            file.execute(f"PRAGMA user_version = {_VERSION}")
            file.execute("CREATE TABLE fields (number INTEGER PRIMARY KEY, name TEXT NOT NULL)")
            file.execute(
                "CREATE TABLE cells (field INTEGER NOT NULL, document INTEGER NOT NULL, value TEXT NOT NULL,"
                " PRIMARY KEY (field, document)) WITHOUT ROWID"
            )
            file.execute("BEGIN")
            names: dict[str, int] = {}
            file.executemany("INSERT INTO cells VALUES (?, ?, ?)", _cells(documents, names))
            file.executemany("INSERT INTO fields VALUES (?, ?)", ((number, name) for name, number in names.items()))
            file.execute("COMMIT")
            file.execute("VACUUM INTO ?", (str(path),))
    except sqlite3.Error as error:
        raise LongRankError(f"cannot write {path}: {error}") from error
    work.unlink()
    with path.open("r+b") as stream:
        stream.seek(_WRITER)
        stream.write(bytes(4))


def _cells(documents: Iterable[tuple[int, str]], names: dict[str, int]) -> Iterator[tuple[int, int, str]]:
    for number, text in documents:
        for name, value in json.loads(text).items():
            field = names.setdefault(name, len(names))
            if field >= MAX_FIELDS:
                fix = "keep some of them only, or put them into an object in one field"
                raise InputError(f"documents have more than {MAX_FIELDS} different fields", got=name, fix=fix)
            yield field, number, json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def check_field(name: str, fields: Sequence[str]) -> None:
    """Refuse a field that is not among the fields of an index.

    Raises:
        InputError: suggests the nearest field.
    """
    if name not in fields:
        raise InputError("no document has this field", got=name, fix=suggestion(name, fields))


class Metadata(Remembered):
    """The stored metadata of an index; safe to use from several threads. The file stays open.

    Attributes:
        fields: names of the fields, in the order in which documents first have them.
        n_docs: number of documents of the index.
    """

    def __init__(self, path: Path, n_docs: int) -> None:
        """Open a metadata file.

        Raises:
            IntegrityError: the file is damaged, or of another version.
        """
        super().__init__()
        self._path, self.n_docs, self._lock = path, n_docs, Lock()
        uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        with self._errors():
            self._file = sqlite3.connect(uri, uri=True, check_same_thread=False)
            weakref.finalize(self, self._file.close)  # a connection is a circle, which waits for garbage collection
            kind, version = (self._rows(f"PRAGMA {name}")[0][0] for name in ("application_id", "user_version"))
            if (kind, version) != (_KIND, _VERSION):
                raise IntegrityError(f"{path}: another file, or written by another version; rebuild the index")
            self.fields: list[str] = [name for _, name in self._rows("SELECT number, name FROM fields ORDER BY number")]

    def of(self, number: int) -> dict[str, Any]:
        """Return the metadata of the document with a number; empty if it has none."""
        rows = self._rows(
            "SELECT name, value FROM fields JOIN cells ON cells.field = fields.number AND document = ?"
            " ORDER BY fields.number",
            (int(number),),
        )
        return {name: json.loads(value) for name, value in rows}

    def check_field(self, name: str) -> None:
        """Refuse a field that no document has.

        Raises:
            InputError: suggests the nearest field.
        """
        check_field(name, self.fields)

    def _column(self, name: str) -> Column:
        self.check_field(name)
        return Column(name, *self.cells(name), self.n_docs)

    def cells(self, name: str) -> tuple[NDArray[np.uint32], list[Any]]:
        """Return (numbers of the documents with a field, ascending; its value in each)."""
        if name not in self.fields:
            return np.empty(0, np.uint32), []
        rows = self._rows(
            "SELECT document, value FROM cells WHERE field = ? ORDER BY document", (self.fields.index(name),)
        )
        values = json.loads(f"[{','.join(value for _, value in rows)}]")
        return np.fromiter((number for number, _ in rows), np.uint32, len(rows)), values

    def first(self, name: str, dead: NDArray[np.bool_]) -> int | None:
        """Return the first document with a field that is not dead; None if there is none."""
        query = "SELECT document FROM cells WHERE field = ? ORDER BY document"
        with self._errors(), self._lock:
            rows = self._file.execute(query, (self.fields.index(name),))
            return next((int(number) for (number,) in rows if not dead[number]), None)

    def texts(self) -> Iterator[tuple[int, str]]:
        """Yield (number, JSON object) of the documents with metadata, in the order of their numbers."""
        with self._errors():
            rows = self._file.execute("SELECT document, field, value FROM cells ORDER BY document, field")
            for number, cells in groupby(rows, lambda row: row[0]):
                parts = (f"{json.dumps(self.fields[field], ensure_ascii=False)}:{value}" for _, field, value in cells)
                yield int(number), f"{{{','.join(parts)}}}"

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._errors(), self._lock:
            return self._file.execute(query, values).fetchall()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise IntegrityError(f"{self._path}: damaged ({error}); rebuild the index") from error
