"""Parsers of PDF, office, e-book, mail and markup files; they run in a child process (`child`).

A parser is a function of a file's path (or, for markup, of its text) that yields `Parsed` documents. To add a format,
write such a function, add a line to `PARSERS`, and a line to `READERS` and `EXTENSIONS` of `longrank.formats.corpora`.
The modules of this package import neither numpy nor any reader of other formats: the child starts fast and small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple


class Parser(NamedTuple):
    """A parser: its function, and the extra that it needs.

    Attributes:
        function: ``"module:function"``.
        extra: the extra; empty: no extra is needed.
        package: the module that the extra installs.
        takes_text: True: it is called with the file's text, else with its path.
    """

    function: str
    extra: str = ""
    package: str = ""
    takes_text: bool = False


@dataclass
class Parsed:
    """A document of a file.

    Attributes:
        text: its text; all offsets are code points of it.
        title: its title, empty if the file has none.
        name: is added to the file's name to make the document's id, e.g. ``#2``; empty for a file of one document.
        pages: the offset of each page's first code point, ascending; empty if the format has no pages.
        headings: (start, end, level) of each heading, in order; levels count from 1.
        values: other fields of the document, e.g. ``author``.
        notes: remark -> count.
    """

    text: str
    title: str = ""
    name: str = ""
    pages: list[int] = field(default_factory=list)
    headings: list[tuple[int, int, int]] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    notes: dict[str, int] = field(default_factory=dict)


Parse = Callable[[str], Iterator[Parsed]]


class Unreadable(Exception):
    """A file cannot be read: it is damaged, encrypted, or of another format. The message begins with a verb."""


class NoText(Unreadable):
    """A file holds pictures of text alone."""


PARSERS: dict[str, Parser] = {
    "pdf": Parser("longrank.formats.parsed.pdf:read_pdf", "files", "pypdfium2"),
    "docx": Parser("longrank.formats.parsed.docx:read_docx", "files", "defusedxml"),
    "pptx": Parser("longrank.formats.parsed.pptx:read_pptx", "files", "defusedxml"),
    "odt": Parser("longrank.formats.parsed.odt:read_odt", "files", "defusedxml"),
    "epub": Parser("longrank.formats.parsed.epub:read_epub", "files", "defusedxml"),
    "markdown": Parser("longrank.formats.parsed.markdown:read_markdown", takes_text=True),
    "rst": Parser("longrank.formats.parsed.rst:read_rst", takes_text=True),
    "eml": Parser("longrank.formats.parsed.mail:read_eml"),
    "mbox": Parser("longrank.formats.parsed.mail:read_mbox"),
}
