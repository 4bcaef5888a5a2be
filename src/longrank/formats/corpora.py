"""Formats of document files.

To add a format, write a function that yields `Record`s of a file and add a line to `READERS`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from longrank.formats.arrow import read_arrow, read_parquet
from longrank.formats.cord19 import is_cord19, read_cord19
from longrank.formats.documents_jsonl import read_jsonl
from longrank.formats.html import read_html
from longrank.formats.parsed import PARSERS
from longrank.formats.parsed_files import reader_of
from longrank.formats.records import Reader
from longrank.formats.sgml import read_trectext, read_trecweb
from longrank.formats.sniffing import format_of_content
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
    "parquet": read_parquet,
    "arrow": read_arrow,
    **{format: reader_of(format) for format in PARSERS},
}
WHOLE_FILES = frozenset({"html", "text", *PARSERS})
"""Formats whose files are documents: a folder is read on without a file that cannot be read."""
EXTENSIONS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".tsv": "tsv",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".txt": "text",
    ".text": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".rst": "rst",
    ".rest": "rst",
    ".pdf": "pdf",
    ".docx": "docx",
    ".docm": "docx",
    ".pptx": "pptx",
    ".odt": "odt",
    ".epub": "epub",
    ".eml": "eml",
    ".mbox": "mbox",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
"""Ending of a file name -> format."""

_KIND = {
    "msmarco-docs": "tsv",
    "trecweb": "trectext",
    "webap": "trectext",
}  # formats whose files look like files of another format
_MSMARCO_DOCS = re.compile(r"msmarco-docs\b.*\.tsv(\.gz)?", re.IGNORECASE)
_MARKUP = ("text", "markdown", "rst")


class Located(NamedTuple):
    """A document, its file or ``irds:ID``, and its first line, if it has one.

    `expansion` holds what is indexed with it and never shown: fields for the index only, and predicted queries.
    """

    document: Document
    path: str
    line: int | None
    expansion: str = ""


def format_of(path: Path) -> str | None:
    """Return the format of a file by its first bytes, or by its name if they do not tell; None if unknown."""
    if is_cord19(path):
        return "cord19"
    if _MSMARCO_DOCS.fullmatch(path.name):
        return "msmarco-docs"
    by_name = EXTENSIONS.get(Path(path.name.lower().removesuffix(".gz")).suffix)
    if by_name is None or by_name in WHOLE_FILES:
        by_content = format_of_content(path)
        # a text that begins with a tag or with From may be about HTML or mail, and with names of texts, about TREC
        if (by_content in ("html", "mbox") and by_name in (*_MARKUP, "html", "eml")) or (
            by_content in ("trectext", "trecweb", "webap") and by_name in ("markdown", "rst", "html", "eml")
        ):
            return by_name
        return by_content or by_name
    return by_name


def may_be(path: Path, format: str) -> bool:
    """Tell whether a file may have a format; TREC files are recognised by their first bytes alone."""
    kind, format_found = _KIND.get(format, format), format_of(path)
    return kind != "trectext" if format_found is None else _KIND.get(format_found, format_found) == kind
