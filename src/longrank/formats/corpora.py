"""Formats of document files.

To add a format, write a function that yields `Record`s of a file and add a line to `READERS`.
"""

from __future__ import annotations

import re
import zlib
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from longrank.errors import InputError
from longrank.formats.cord19 import is_cord19, read_cord19
from longrank.formats.documents_jsonl import read_jsonl
from longrank.formats.html import read_html
from longrank.formats.opening import open_bytes
from longrank.formats.records import Reader
from longrank.formats.sgml import read_trectext, read_trecweb
from longrank.formats.text_files import read_text
from longrank.formats.tsv import read_msmarco_docs, read_tsv
from longrank.formats.webap import read_webap
from longrank.types import Document

READERS: dict[str, Reader] = {
    "jsonl": read_jsonl,
    "tsv": read_tsv,
    "msmarco-docs": read_msmarco_docs,
    "trectext": read_trectext,
    "trecweb": read_trecweb,
    "webap": read_webap,
    "cord19": read_cord19,
    "html": read_html,
    "text": read_text,
}
EXTENSIONS = {
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
"""Ending of a file name -> format."""

_KIND = {
    "msmarco-docs": "tsv",
    "trecweb": "trectext",
    "webap": "trectext",
}  # formats whose files look like files of another format
_SNIFFED = 4096  # bytes
_MSMARCO_DOCS = re.compile(r"msmarco-docs\b.*\.tsv(\.gz)?", re.IGNORECASE)


class Located(NamedTuple):
    """A document, its file or ``irds:ID``, and its first line, if it has one.

    `expansion` holds queries that were predicted for it: they are indexed with it and never shown.
    """

    document: Document
    path: str
    line: int | None
    expansion: str = ""


def format_of(path: Path) -> str | None:
    """Return the format of a file by its name, or by its first bytes if the name does not tell; None if unknown."""
    if is_cord19(path):
        return "cord19"
    if _MSMARCO_DOCS.fullmatch(path.name):
        return "msmarco-docs"
    by_name = EXTENSIONS.get(Path(path.name.lower().removesuffix(".gz")).suffix)
    return _trec_format(path) or by_name if by_name in (None, "text") else by_name


def may_be(path: Path, format: str) -> bool:
    """Tell whether a file may have a format; TREC files are recognised by their first bytes alone."""
    kind, format_found = _KIND.get(format, format), format_of(path)
    return kind != "trectext" if format_found is None else _KIND.get(format_found, format_found) == kind


def _trec_format(path: Path) -> str | None:
    head = b""
    if path.is_file():  # a pipe can be read only once
        with suppress(InputError, OSError, EOFError, zlib.error), open_bytes(path) as stream:
            head = stream.read(_SNIFFED).removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if b"<target_qid>" in head:
        return "webap"
    if not re.match(rb"<doc[\s>]", head):
        return None
    return "trecweb" if b"<dochdr>" in head else "trectext"
