"""Read files that a parser in a child process turns into documents: PDF, office, e-book, mail and markup files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

from longrank.errors import InputError, MissingExtra
from longrank.formats.ocr import recognised
from longrank.formats.parsed import PARSERS, Parsed
from longrank.formats.parsed.child import NoTextLayer, parse
from longrank.formats.records import CorpusOptions, Reader, Record, SourceFile
from longrank.formats.whole_files import whole_text
from longrank.types import Notes
from longrank.types.pages import HEADINGS, PAGE_STARTS, SOURCE

SCANNED = "files without a text layer (scanned pages)"


def reader_of(format: str) -> Reader:
    """Return the reader of a format of `longrank.formats.parsed.PARSERS`."""
    return partial(_read, format)


def _read(format: str, file: SourceFile, notes: Notes, options: CorpusOptions) -> Iterator[Record]:
    """Yield the documents of a file; the id is the file's path relative to the source folder.

    Raises:
        InputError: the file is damaged, encrypted, or exceeds a limit; or as `recognised`.
        MissingExtra: a parser is not installed.
    """
    parser = PARSERS[format]
    if parser.package and find_spec(parser.package) is None:
        raise MissingExtra(f"reading {format} files", parser.extra)
    if file.path.name.lower().endswith(".gz") and not parser.takes_text:
        raise InputError(f"is packed, and {format} files are read unpacked", path=file.path, fix="unpack it first")
    text = whole_text(file.path, notes, options) if parser.takes_text else None
    try:
        for parsed in parse(file.path, format, text, options.files.limits):
            yield _record(file, parsed, notes)
    except NoTextLayer:
        if options.files.ocr is None:
            raise
        parsed = recognised(file.path, options.files.ocr, options.files.ocr_folder)
        notes.add("files read by --ocr", str(file.path))
        yield _record(file, parsed, notes)


def _record(file: SourceFile, parsed: Parsed, notes: Notes) -> Record:
    for kind, count in parsed.notes.items():
        notes.add(kind, str(file.path), count)
    own: dict[str, Any] = {"title": parsed.title, "text": parsed.text, SOURCE: file.source}
    if parsed.pages:
        own |= {"pages": len(parsed.pages), PAGE_STARTS: parsed.pages}
    if parsed.headings:
        own[HEADINGS] = parsed.headings
    lost = parsed.values.keys() & {*own, "passages"} - {"title"}  # passages of the front matter are no spans
    for name in sorted(lost):
        notes.add(f"values '{name}' of the files themselves left out: the field has a meaning here", str(file.path))
    values = {name: value for name, value in parsed.values.items() if name not in lost}
    return Record(file.name + parsed.name, {**values, **own}, None)
