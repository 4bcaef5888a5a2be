"""Plain text and Markdown: a file is a document; its id is its path relative to the source folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from longrank.errors import InputError
from longrank.formats.lines import decode
from longrank.formats.opening import Limits, read_chunks
from longrank.formats.records import CorpusOptions, Record, SourceFile
from longrank.types import Notes


def read_text(file: SourceFile, notes: Notes, options: CorpusOptions) -> Iterator[Record]:
    """Yield the document of a file: no title, the whole text, line ends as ``\\n``.

    Raises:
        InputError: the file cannot be read as text.
    """
    raw = read_whole(file.path, options.text.limits)
    text = without_nul(decode(raw, file.path, notes, options.text), file.path)
    yield Record(file.name, {"text": text.replace("\r\n", "\n")}, None)


def read_whole(path: Path, limits: Limits) -> bytes:
    """Return the bytes of a file that is a document, unpacked if its name ends in ``.gz``.

    Raises:
        InputError: the file cannot be read, or is longer than `Limits.max_line`.
    """
    chunks, size = [], 0
    for chunk in read_chunks(path, limits):
        chunks.append(chunk)
        size += len(chunk)
        if size > limits.max_line:
            raise InputError(f"is longer than {limits.max_line} bytes, too long for one document", path=path)
    return b"".join(chunks)


def without_nul(text: str, path: Path) -> str:
    """Return `text`.

    Raises:
        InputError: it holds a NUL; names the line.
    """
    at = text.find("\x00")
    if at >= 0:
        line = text.count("\n", 0, at) + 1
        raise InputError("holds a NUL byte; not a text file, or damaged", path=path, line=line)
    return text
