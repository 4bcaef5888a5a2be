"""From what a source says to a `Document`: which field is the title, which make the text, which are passages.

A reader of any format yields `Record`s: an id and named values. Here, and only here, they become documents:
the title is always the source's ``title``, the text is the chosen other fields joined by newlines, and the
source's own passages are kept when the text is exactly its field ``text``, since that is what they are spans of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from longrank.errors import InputError
from longrank.formats.given import given_passages
from longrank.formats.lines import DEFAULT_TEXT, TextOptions
from longrank.types import Document, Notes

TITLE = "title"
NAMES_OF_TEXT = ("text", "body", "contents")


@dataclass(frozen=True, slots=True)
class CorpusOptions:
    """How documents are read.

    Attributes:
        format: a key of `READERS`; None: by the name of each file, else by its first bytes.
        fields: the fields that matter. ``title`` among them is for the index to heed; the others,
            in this order, make the document's text.
        text: encoding of the files and limits.
    """

    format: str | None = None
    fields: tuple[str, ...] = ("title", "text")
    text: TextOptions = DEFAULT_TEXT


Place: TypeAlias = tuple[Path, int | None]
"""A file and a line of it."""


class SourceFile(NamedTuple):
    """A file, and its name from the folder that was given: the id of a document that is a whole file."""

    path: Path
    name: str


class Record(NamedTuple):
    """A document as its source has it; `line` is where it begins, None if it is the whole file."""

    doc_id: str
    values: Mapping[str, Any]
    line: int | None


Reader: TypeAlias = Callable[[SourceFile, Notes, CorpusOptions], Iterator[Record]]


class Composer:
    """Makes documents of records, and remembers which of the named fields have occurred."""

    def __init__(self, fields: tuple[str, ...]) -> None:
        """Check `fields`.

        Raises:
            InputError: no field is named, or one twice.
        """
        if not fields or not all(fields) or len(set(fields)) < len(fields):
            raise InputError("fields must be different names", got=",".join(fields), fix="e.g. --fields title,text")
        self._names = tuple(name for name in fields if name != TITLE)
        self._unseen = set(self._names)

    def document(self, record: Record, path: Path, notes: Notes) -> Document:
        """Return the record as a document.

        A record must have ``text`` if that is named, else at least one of the named fields; other
        fields that it lacks are empty.

        Raises:
            InputError: no text, a value that is null or not a string, passages that do not match the text.
        """
        where = (path, record.line)
        parts = {name: _value(record.values, _key(name, record.values), where) for name in self._names}
        if self._names and not _has_text(parts):
            raise _no_text(self._names, where)
        if self._unseen:
            self._unseen -= {name for name, part in parts.items() if part is not None}
        text = "\n".join(filter(None, parts.values()))
        if self._names and not text:
            notes.add("documents with an empty text", _shown(where))
        title = record.values.get(TITLE)
        title = "" if title is None else _value(record.values, TITLE, where) or ""
        return Document(record.doc_id, title, text, self._passages(record, text, where, notes))

    def check_seen(self) -> None:
        """Refuse a field that not one record had: a misspelt name is no empty field.

        Raises:
            InputError: names the field.
        """
        for name in self._names:
            if name in self._unseen:
                raise InputError("no document has this field", got=name, fix="see --fields")

    def _passages(self, record: Record, text: str, where: Place, notes: Notes) -> tuple[tuple[int, int], ...]:
        given = record.values.get("passages")
        if given is None:
            return ()
        if self._names != ("text",):
            notes.add("documents whose own passages were left out, being parts of 'text' alone", _shown(where))
            return ()
        return given_passages(given, text, *where)


def _key(name: str, values: Mapping[str, Any]) -> str:
    """Return the key that holds the field: ``text`` may go by other names."""
    if name != "text" or name in values:
        return name
    return next((key for key in NAMES_OF_TEXT if key in values), name)


def _value(values: Mapping[str, Any], key: str, where: Place) -> str | None:
    if key not in values:
        return None
    value = values[key]
    if value is None:
        if key in NAMES_OF_TEXT:
            raise InputError(f"'{key}' is null", path=where[0], line=where[1], fix='an empty text is ""')
        return None
    if not isinstance(value, str):
        raise InputError(f"'{key}' is not a string", path=where[0], line=where[1], got=value)
    return value


def _has_text(parts: Mapping[str, str | None]) -> bool:
    if "text" in parts:
        return parts["text"] is not None
    return any(part is not None for part in parts.values())


def _no_text(names: tuple[str, ...], where: Place) -> InputError:
    wanted = NAMES_OF_TEXT if "text" in names else names
    return InputError("no text", path=where[0], line=where[1], fix=f"a field {' or '.join(wanted)} is needed")


def _shown(where: Place) -> str:
    return f"{where[0]}:{where[1]}" if where[1] else str(where[0])
