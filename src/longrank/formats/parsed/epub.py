"""E-books (EPUB 2 and 3): the chapters in reading order; nothing outside the container is opened."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from urllib.parse import unquote

from longrank.formats.parsed import Parsed, Unreadable
from longrank.formats.parsed.html_text import add_html
from longrank.formats.parsed.writer import TextWriter
from longrank.formats.parsed.zipped import Container, attribute, core_values, local, opened

_CONTAINER = "META-INF/container.xml"
_PAGES = ("application/xhtml+xml", "text/html")


def read_epub(path: str) -> Iterator[Parsed]:
    """Yield the document of an e-book.

    Raises:
        Unreadable: damaged or encrypted.
    """
    with opened(path) as container:
        package = next(
            (attribute(e, "full-path") for e in container.xml(_CONTAINER).iter() if local(e) == "rootfile"), ""
        )
        writer, encrypted = TextWriter(), _encrypted(container)
        for name in _spine(container, package):
            if name in encrypted:
                raise Unreadable("is encrypted (DRM)")
            add_html(container.read(name).decode("utf-8", "replace"), writer)
        values = core_values(container, package)
        yield writer.parsed(values.pop("title", ""), values)


def _encrypted(container: Container) -> set[str]:
    name = "META-INF/encryption.xml"
    root = container.xml(name) if name in container else ()
    return {attribute(e, "URI") for element in root for e in element.iter() if local(e) == "CipherReference"}


def _spine(container: Container, package: str) -> Iterator[str]:
    """Yield the parts of the chapters in reading order, each once."""
    root, folder = container.xml(package), posixpath.dirname(package)
    items = {attribute(e, "id"): e for e in root.iter() if local(e) == "item"}
    seen = set()
    for reference in (attribute(e, "idref") for e in root.iter() if local(e) == "itemref"):
        item = items.get(reference)
        if item is None or attribute(item, "media-type") not in _PAGES:
            continue
        name = posixpath.normpath(posixpath.join(folder, unquote(attribute(item, "href"))))
        if name not in seen:
            seen.add(name)
            yield name
