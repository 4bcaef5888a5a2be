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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from operator import itemgetter
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError, IntegrityError
from longrank.index.columns import Column
from longrank.index.remembered import Remembered
from longrank.registries import suggestion

NAME = "metadata.sqlite"
KIND, VERSION = 0x4C524D44, 1  # "LRMD", in the file's header


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
            OSError: the file cannot be opened.
            IntegrityError: the file is damaged, or of another version.
        """
        super().__init__()
        self._path, self.n_docs, self._lock = path, n_docs, Lock()
        uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        path.open("rb").close()  # SQLite tells no file that may not be read from a damaged file
        with self._errors():
            self._file = sqlite3.connect(uri, uri=True, check_same_thread=False)
            weakref.finalize(self, self._file.close)  # a connection is a circle, which waits for garbage collection
            kind, version = (self._rows(f"PRAGMA {name}")[0][0] for name in ("application_id", "user_version"))
            if (kind, version) != (KIND, VERSION):
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

    def firsts(self, dead: NDArray[np.bool_]) -> dict[str, int]:
        """Return the first document with each field that is not dead, in the order of these documents."""
        return dict(sorted(self._firsts(dead), key=itemgetter(1)))

    def _firsts(self, dead: NDArray[np.bool_]) -> Iterator[tuple[str, int]]:
        for field, name in enumerate(self.fields):
            with self._errors(), self._lock:
                rows = self._file.execute("SELECT document FROM cells WHERE field = ? ORDER BY document", (field,))
                yield from ((name, int(number)) for (number,) in islice((row for row in rows if not dead[row[0]]), 1))

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._errors(), self._lock:
            return self._file.execute(query, values).fetchall()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise IntegrityError(f"{self._path}: damaged ({error}); rebuild the index") from error
