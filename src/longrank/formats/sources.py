"""Which files a source stands for, and what format each has.

A source is a file, a folder (walked in sorted order) or a collection folder, whose ``docs.jsonl`` is meant. Without a
format, a file's name says what it is, or its first bytes where TREC files need it. In a folder, files that
are nothing we read are counted, never read as something they are not.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from longrank.errors import InputError, LongRankError
from longrank.formats.collection import documents_of
from longrank.formats.lines import open_bytes
from longrank.formats.records import CorpusOptions, SourceFile
from longrank.storage import MANIFEST, open_manifest
from longrank.types import Notes

_BY_EXTENSION = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".tsv": "tsv",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".txt": "text",
    ".md": "text",
    ".markdown": "text",
}
_TREC = ("trectext", "trecweb")
_KIND = {"msmarco-docs": "tsv", "trecweb": "trectext"}  # formats whose files look like those of another
_PACKED = re.compile(r"\.(\d?z|tar(\.\w+)?|t[gbx]z2?|zip|7z|rar|bz2|xz|zst|lz4)$", re.IGNORECASE)
_UNFIT_IN_ID = re.compile(r"[\x00-\x20\x7f\udc80-\udcff]")
_SNIFFED = 4096  # bytes


def files_of(source: str, options: CorpusOptions, notes: Notes) -> Iterator[tuple[SourceFile, str]]:
    """Yield the files of a source, in an order that depends on their names alone, and the format of each.

    Raises:
        InputError: no such file or folder, an archive, a file whose format cannot be told, or a folder
            with nothing to read.
    """
    if not source:  # else it would be the current folder: a variable of the shell that is not set
        raise InputError("no source: an empty name was given")
    path = Path(source)
    if _is_folder(path):
        collection = documents_of(path) if options.format in (None, "jsonl") else None
        yield from [(SourceFile(collection, collection.name), "jsonl")] if collection else _in(path, options, notes)
        return
    _refuse_packed(path)
    if not path.exists():
        raise InputError("no such file or folder", path=path)
    format = options.format or _guess(path)
    if format is None:
        known = ", ".join(_BY_EXTENSION)
        raise InputError("its format cannot be told", path=path, fix=f"name it with --format, or end it in {known}")
    yield SourceFile(path, _as_id(path.name, notes, path)), format


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=path) from None


def _in(folder: Path, options: CorpusOptions, notes: Notes) -> Iterator[tuple[SourceFile, str]]:
    n_read = 0
    for path in _walk(folder, notes):
        _refuse_packed(path)
        format = _format_in_folder(path, options.format)
        if format is None:
            notes.add("files of no known format passed over", str(path))
            continue
        n_read += 1
        yield SourceFile(path, _as_id(path.relative_to(folder).as_posix(), notes, path)), format
    if not n_read:
        wanted = f"{options.format} files" if options.format else f"files ending in {', '.join(_BY_EXTENSION)}"
        raise InputError("folder holds nothing to read", path=folder, fix=f"it should hold {wanted}; see --format")


def _walk(folder: Path, notes: Notes) -> Iterator[Path]:
    """Yield the regular files below a folder, sorted; not hidden ones, linked folders, or what longrank wrote."""

    def fail(error: OSError) -> None:
        raise InputError(f"cannot be read: {error.strerror or error}", path=error.filename)

    for parent, folders, files in os.walk(folder, onerror=fail):
        if MANIFEST in files and _is_written_by_us(Path(parent)):
            notes.add("folders written by longrank passed over", parent)
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        visible = (Path(parent, name) for name in sorted(files) if not name.startswith("."))
        yield from (path for path in visible if path.is_file())


def _is_written_by_us(folder: Path) -> bool:
    """Say whether the folder has our manifest: an index may lie in the folder that it was made from."""
    try:
        open_manifest(folder)
    except LongRankError:
        return False
    return True


def _format_in_folder(path: Path, format: str | None) -> str | None:
    guess = _guess(path)
    if format is None:
        return guess
    kind = _KIND.get(format, format)
    looks = _KIND.get(guess, guess) if guess else None
    return format if looks == kind or (looks is None and kind != "trectext") else None


def _guess(path: Path) -> str | None:
    """Return the format of a file by its name; TREC files, which are named anyhow, by their first bytes."""
    by_name = _BY_EXTENSION.get(Path(path.name.lower().removesuffix(".gz")).suffix)
    return _trec_format(path) or by_name if by_name in (None, "text") else by_name


def _trec_format(path: Path) -> str | None:
    head = b""
    if path.is_file():  # a pipe can be read only once
        with suppress(InputError, OSError, EOFError, zlib.error), open_bytes(path) as stream:
            head = stream.read(_SNIFFED).removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if not re.match(rb"<doc[\s>]", head):
        return None
    return "trecweb" if b"<dochdr>" in head else "trectext"


def _refuse_packed(path: Path) -> None:
    if _PACKED.search(path.name):
        raise InputError("is packed; only .gz is unpacked on the way", path=path, fix="unpack it first")


def _as_id(name: str, notes: Notes, path: Path) -> str:
    """Return a file's name as an id: what no id may hold is written as in a URL."""
    fit = _UNFIT_IN_ID.sub(lambda unfit: "".join(f"%{byte:02X}" for byte in os.fsencode(unfit[0])), name)
    if fit != name:
        notes.add("file names with blanks, written %20 in ids", str(path))
    return fit
