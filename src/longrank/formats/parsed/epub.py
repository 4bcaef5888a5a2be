"""E-books (EPUB 2 and 3): the chapters in reading order; nothing outside the container is opened."""

from __future__ import annotations

import codecs
import posixpath
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import unquote

from longrank.formats.parsed import Parsed, Unreadable
from longrank.formats.parsed.encodings import REPLACED, Decoded, declared, decoded
from longrank.formats.parsed.html_text import add_html
from longrank.formats.parsed.writer import TextWriter
from longrank.formats.parsed.zipped import Container, attribute, core_values, local, opened
from longrank.formats.xhtml import as_html

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_CONTAINER = "META-INF/container.xml"
_XML = "application/xhtml+xml"
_PAGES = (_XML, "text/html")
_STARTS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    b"<\0": "utf-16-le",
    b"\0<": "utf-16-be",
}


def read_epub(path: str) -> Iterator[Parsed]:
    """Yield the document of an e-book.

    Raises:
        Unreadable: damaged or encrypted.
    """
    with opened(path) as container:
        package = next(
            (attribute(e, "full-path") for e in container.xml(_CONTAINER).iter() if local(e) == "rootfile"), ""
        )
        writer, encrypted, notes = TextWriter(), _encrypted(container), Counter[str]()
        chapters, nameless, others = _spine(container, package)
        notes["e-book chapters that the list of files does not name, left out"] = nameless
        notes["e-book pages outside the order of reading, left out"] = others
        for name, kind in chapters.items():
            if kind not in _PAGES:
                notes["e-book chapters of other formats than HTML, left out"] += 1
                continue
            if name in encrypted:
                raise Unreadable("is encrypted (DRM)")
            read = _decoded(container.read(name))
            notes["e-book chapters whose bytes do not fit their encoding"] += not read.fits
            notes[REPLACED] += read.n_replaced
            add_html(as_html(read.text) if kind == _XML else read.text, writer)
        values = core_values(container, package)
        parsed = writer.parsed(values.pop("title", ""), values)
        parsed.notes = dict(+notes)
        yield parsed


def _encrypted(container: Container) -> set[str]:
    name = "META-INF/encryption.xml"
    root = container.xml(name) if name in container else ()
    return {unquote(attribute(e, "URI")) for element in root for e in element.iter() if local(e) == "CipherReference"}


def _decoded(raw: bytes) -> Decoded:
    """Return the text of a chapter.

    The encoding is that of the first bytes, else UTF-8 if the bytes are valid, else the declared one.
    """
    first = next((encoding for start, encoding in _STARTS.items() if raw.startswith(start)), "")
    return decoded(raw, (first,), first) if first else decoded(raw, ("utf-8", *declared(raw)))


def _spine(container: Container, package: str) -> tuple[dict[str, str], int, int]:
    """Return the parts of the chapters in reading order with their media types.

    Also the number of unknown chapters, and that of other pages; the page of contents (``nav``) counts as neither.
    """
    root, folder = container.xml(package), posixpath.dirname(package)
    items = {attribute(e, "id"): e for e in root.iter() if local(e) == "item"}
    chapters = [items.get(attribute(e, "idref")) for e in root.iter() if local(e) == "itemref"]

    def name_of(item: Element) -> str:
        file = attribute(item, "href").partition("#")[0]
        return posixpath.normpath(posixpath.join(folder, unquote(file)))

    kinds: dict[str, str] = {}
    for item in (item for item in chapters if item is not None):
        kinds.setdefault(name_of(item), attribute(item, "media-type"))
    pages = [item for item in items.values() if attribute(item, "media-type") in _PAGES and name_of(item) not in kinds]
    others = {name_of(page) for page in pages if "nav" not in attribute(page, "properties").split()}
    return kinds, chapters.count(None), len(others)
