"""Write the metadata file of an index, from records and from the metadata files of segments."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError, LongRankError
from longrank.index.metadata import KIND, NAME, VERSION, Metadata

MAX_FIELDS = 1000
"""Largest number of different fields in an index."""

_DELETED = 2**32 - 1
_WRITER = 96  # place of the version of the SQLite that wrote the file
_dumped = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Source(Protocol):
    """Metadata of documents that follow each other."""

    def copy_to(self, file: sqlite3.Connection, number: Callable[[str], int]) -> None:
        """Add the cells to a metadata file; `number` gives the number of a field by its name."""
        ...


class Records:
    """JSON objects of documents; empty for a document without metadata.

    Args:
        base: number of the first document.
        objects: a JSON object per document.
    """

    def __init__(self, base: int, objects: Iterable[bytes]) -> None:
        self._base, self._objects = base, objects

    def copy_to(self, file: sqlite3.Connection, number: Callable[[str], int]) -> None:
        """Add the cells to a metadata file; see `Source`."""
        file.execute("BEGIN")
        file.executemany("INSERT INTO cells VALUES (?, ?, ?)", self._cells(number))
        file.execute("COMMIT")

    def _cells(self, number: Callable[[str], int]) -> Iterator[tuple[int, int, str]]:
        for document, text in enumerate(self._objects, self._base):
            if text:
                for name, value in json.loads(text).items():
                    yield number(name), document, _dumped(value)


class Copied:
    """The metadata file of a segment, of which some documents may be deleted.

    Args:
        base: number of the first document.
        path: the file.
        places: uint32 per document of the segment: its number without the deleted documents; 2^32 - 1 if deleted.
    """

    def __init__(self, base: int, path: Path, places: NDArray[np.uint32]) -> None:
        self._base, self._path, self._places = base, path, places

    def copy_to(self, file: sqlite3.Connection, number: Callable[[str], int]) -> None:
        """Add the cells to a metadata file; see `Source`."""
        metadata = Metadata(self._path, len(self._places))
        dead = self._places == _DELETED
        file.execute("ATTACH ? AS segment", (f"{self._path.absolute().as_uri()}?mode=ro&immutable=1",))
        place, living = "document", "TRUE"
        if dead.any():
            numbers = self._places.astype(np.object_)
            numbers[dead] = None
            file.create_function("place", 1, numbers.tolist().__getitem__, deterministic=True)
            place, living = "place(document)", "place(document) IS NOT NULL"
        copy = f"INSERT INTO cells SELECT ?, ? + {place}, value FROM segment.cells WHERE field = ? AND {living}"  # noqa: S608
        for name in metadata.firsts(dead):
            file.execute(f"{copy} ORDER BY document", (number(name), self._base, metadata.fields.index(name)))
        file.execute("DETACH segment")


def write_metadata(folder: Path, sources: Sequence[Source]) -> None:
    """Write the metadata file of an index.

    Args:
        folder: folder of the file, which must not exist yet.
        sources: metadata of all documents, in the order of their numbers.

    Raises:
        InputError: more than `MAX_FIELDS` different fields.
        LongRankError: writing failed.
    """
    work, path, names = folder / f".{NAME}", folder / NAME, dict[str, int]()
    try:
        with closing(sqlite3.connect(work.absolute().as_uri(), uri=True, isolation_level=None)) as file:
            _create(file)
            for source in sources:
                source.copy_to(file, partial(_numbered, names))
            file.executemany("INSERT INTO fields VALUES (?, ?)", [(number, name) for name, number in names.items()])
            file.execute("VACUUM INTO ?", (path.absolute().as_uri(),))  # any bytes of a name
    except sqlite3.Error as error:
        raise LongRankError(f"cannot write {path}: {error}") from error
    work.unlink()
    with path.open("r+b") as stream:
        stream.seek(_WRITER)
        stream.write(bytes(4))


def _create(file: sqlite3.Connection) -> None:
    for statement in ("journal_mode = OFF", "synchronous = OFF", f"application_id = {KIND}"):
        file.execute(f"PRAGMA {statement}")
    file.execute(f"PRAGMA user_version = {VERSION}")
    file.execute("CREATE TABLE fields (number INTEGER PRIMARY KEY, name TEXT NOT NULL)")
    file.execute(
        "CREATE TABLE cells (field INTEGER NOT NULL, document INTEGER NOT NULL, value TEXT NOT NULL,"
        " PRIMARY KEY (field, document)) WITHOUT ROWID"
    )


def _numbered(names: dict[str, int], name: str) -> int:
    number = names.setdefault(name, len(names))
    if number >= MAX_FIELDS:
        fix = "keep some of them only, or put them into an object in one field"
        raise InputError(f"documents have more than {MAX_FIELDS} different fields", got=name, fix=fix)
    return number
