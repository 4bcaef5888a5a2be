"""Make `Document`s of the `Record`s that the readers of all formats yield.

The title is always the field ``title``. The text is the other chosen fields, joined by newlines. The source's own
passages are spans of its field ``text``, so they are kept only if no other field is chosen; a title before the text
moves them. All other fields are metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from longrank.errors import InputError
from longrank.formats.metadata import is_missing, metadata_of
from longrank.formats.records import ID_KEYS, NAMES_OF_TEXT, CorpusOptions, Record
from longrank.formats.spans import passage_spans
from longrank.types import UNMATCHED, Document, Notes, Span, headings_of
from longrank.types.letters import is_plain
from longrank.types.pages import HEADINGS, PAGE_STARTS, shifted

TITLE = "title"
PASSAGES = "passages"
NOT_PLAIN = (
    "documents with decomposed letters (not NFC) or narrow no-break spaces (U+202F), "
    "which make other words for the analyzers porter and none"
)
_OFFSETS = {PAGE_STARTS, HEADINGS}

Place: TypeAlias = tuple[Path, int | None]
"""A file and a line of it."""


class Composer:
    """Makes documents of records, and remembers the chosen fields that have occurred."""

    def __init__(self, options: CorpusOptions) -> None:
        """Check the fields.

        Raises:
            InputError: no field, or a field twice.
        """
        fields = (*options.fields, *options.index_only)
        if not options.fields or not all(fields) or len(set(fields)) < len(fields):
            raise InputError("fields must be different names", got=",".join(fields), fix="e.g. --fields title,text")
        self._names = tuple(name for name in options.fields if name != TITLE)
        self._unseen, self._options = {*self._names, *options.index_only}, options
        self._used = {TITLE, PASSAGES, *self._names}
        if self._names != ("text",):
            self._used |= _OFFSETS  # they count the code points of 'text' alone
        self._metadata = None if options.metadata is None else frozenset(options.metadata)
        self._unseen_metadata = set(options.metadata or ())
        self._n_adopted = self._n_incomplete = 0

    def document(self, record: Record, path: Path, notes: Notes) -> Document:
        """Return the record as a document.

        A record must have ``text`` if ``text`` is chosen, else at least one chosen field; other missing fields are
        empty.

        Raises:
            InputError: no text, or a value that is null or not a string.
        """
        where = (path, record.line)
        parts = {name: _value(record.values, _key(name, record.values), where) for name in self._names}
        if self._names and not _has_text(parts):
            raise _no_text(self._names, where)
        if self._unseen:
            self._unseen -= {name for name, part in parts.items() if part is not None}
        if self._unseen_metadata:
            self._unseen_metadata -= record.values.keys()
        text = "\n".join(filter(None, parts.values()))
        title = _value(record.values, TITLE, where) or ""
        self._note(title, text, where, notes)
        passages = self._passages(record, text, where, notes)
        metadata = self._other(record, where, notes)
        if self._options.title_in_text:
            length = len(text)
            text = "\n".join(filter(None, (title, text)))
            metadata = shifted(metadata, len(text) - length)
            passages = _moved(passages, len(text) - length)
        return Document(record.doc_id, title, text, passages, metadata, headings_of(metadata))

    def index_only(self, record: Record, path: Path) -> str:
        """Return the fields of a record that are indexed and are no part of the text.

        Raises:
            InputError: a value is not a string.
        """
        if not self._options.index_only:
            return ""
        parts = {name: _value(record.values, name, (path, record.line)) for name in self._options.index_only}
        self._unseen -= {name for name, part in parts.items() if part is not None}
        return "\n".join(filter(None, parts.values()))

    def adopted(self, document: Document, where: Place, notes: Notes) -> tuple[Document, str]:
        """Return a `Document` with title, metadata and passages as the options have them, and its `index_only` fields.

        A text that begins with the title in a line of its own has it already: it comes from such an index.

        Raises:
            InputError: a field for the index only is not a string.
        """
        options, title, text, self._n_adopted = self._options, document.title, document.text, self._n_adopted + 1
        self._unseen -= {*self._names, *document.metadata}
        self._unseen_metadata -= document.metadata.keys()
        metadata, passages = dict(document.metadata), () if options.ignore_passages else document.passages
        index_only = "\n".join(filter(None, (_value(metadata, name, where) for name in options.index_only)))
        self._n_incomplete += not metadata.keys() >= {*options.index_only}
        metadata = {name: value for name, value in metadata.items() if self._is_kept(name)}
        if options.title_in_text and title and not f"{text}\n".startswith(f"{title}\n"):
            text = "\n".join(filter(None, (title, text)))
            by = len(text) - len(document.text)
            metadata, passages = shifted(metadata, by), _moved(passages, by)
        headings = headings_of(metadata) if document.headings else ()
        self._note(title, text, where, notes)
        adopted = replace(document, text=text, passages=passages, metadata=metadata, headings=headings)
        return adopted, index_only

    def check_seen(self, notes: Notes, place: str | None = None) -> None:
        """Refuse a chosen field that no record had: it is probably misspelt. Count such names of metadata.

        `Document` values have their text already, whatever the fields: a note counts them if that matters.

        Args:
            notes: counts the names of metadata.
            place: the source, for the message.

        Raises:
            InputError: names the field.
        """
        if self._names != ("text",) and not self._options.known:
            notes.add("Document values, whose text is read as it is, not by the chosen fields", "", self._n_adopted)
        notes.add("Document values without a field that is indexed only", "", self._n_incomplete)
        for name in (*self._names, *self._options.index_only):
            if name in self._unseen and not self._options.known:
                raise InputError("no document has this field", path=place, got=name, fix="see --fields")
        if not self._options.known:
            for name in sorted(self._unseen_metadata):
                notes.add("names of metadata that no document has", name)

    def _note(self, title: str, text: str, where: Place, notes: Notes) -> None:
        if self._names and not text:
            notes.add("documents with an empty text", _shown(where))
        if not (is_plain(text) and is_plain(title)):
            notes.add(NOT_PLAIN, _shown(where))

    def _other(self, record: Record, where: Place, notes: Notes) -> dict[str, Any]:
        """Return the fields that are no part of the document yet."""
        values = record.values
        text = _key("text", values) if "text" in self._names else None
        names = [
            name
            for name in values
            if name not in self._used
            and name != text
            and self._is_kept(name)
            and not (name in ID_KEYS and str(values[name]) == record.doc_id)
        ]
        return metadata_of(values, names, notes, _shown(where)) if names else {}

    def _is_kept(self, name: str) -> bool:
        return self._metadata is None or name in self._metadata or name in _OFFSETS

    def _passages(self, record: Record, text: str, where: Place, notes: Notes) -> tuple[Span, ...]:
        passages = record.values.get(PASSAGES)
        if is_missing(passages) or self._options.ignore_passages:
            return ()
        if self._names != ("text",):
            notes.add("documents whose own passages were left out: they are spans of 'text' alone", _shown(where))
            return ()
        return passage_spans(passages, text, _shown(where), notes)


def _moved(passages: tuple[Span, ...], by: int) -> tuple[Span, ...]:
    """Return spans of a text that has `by` code points more before it."""
    return tuple(span if span == UNMATCHED else (span[0] + by, span[1] + by) for span in passages)


def _key(name: str, values: Mapping[str, Any]) -> str:
    """Return the key that holds the field: ``text`` has other names, too."""
    if name != "text" or name in values:
        return name
    return next((key for key in NAMES_OF_TEXT if key in values), name)


def _value(values: Mapping[str, Any], key: str, where: Place) -> str | None:
    if key not in values:
        return None
    value = values[key]
    if is_missing(value):
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
    needed = NAMES_OF_TEXT if "text" in names else names
    return InputError("no text", path=where[0], line=where[1], fix=f"a field {' or '.join(needed)} is needed")


def _shown(where: Place) -> str:
    return f"{where[0]}:{where[1]}" if where[1] else str(where[0])
