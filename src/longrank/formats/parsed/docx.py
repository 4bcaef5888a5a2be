"""Word files (DOCX, ISO/IEC 29500): paragraphs, tables, headings, notes; no macro, field or link is followed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from longrank.formats.parsed import Parsed
from longrank.formats.parsed.writer import TextWriter
from longrank.formats.parsed.zipped import Container, attribute, core_values, local, opened, related, relations, walk

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_BODY, _STYLES = "word/document.xml", "word/styles.xml"
_BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_TWINS = frozenset({"del", "moveFrom", "Fallback"})  # deleted or moved text, and text boxes a second time
_SKIPPED = _TWINS | {"instrText", "pPr", "rPr"}  # field codes and properties
_HEADING = re.compile(r"heading ([1-9])$", re.IGNORECASE)
_NOTES = ("footnotes", "endnotes")


def read_docx(path: str) -> Iterator[Parsed]:
    """Yield the document of a Word file.

    Raises:
        Unreadable: damaged or encrypted.
    """
    with opened(path) as container:
        writer = TextWriter()
        body = related(relations(container, ""), "officeDocument", _BODY)
        others = relations(container, body)
        levels = _levels(container, related(others, "styles", _STYLES))
        notes = (related(others, kind, f"word/{kind}.xml") for kind in _NOTES)
        for name in (body, *(name for name in notes if name in container)):
            for paragraph in _paragraphs(container.xml(name)):
                writer.add(_text(paragraph), levels.get(_style(paragraph), 0))
        values = core_values(container, "docProps/core.xml")
        parsed = writer.parsed(values.pop("title", ""), values)
        inserted = sum(relation.kind == "aFChunk" for relation in others)
        parsed.notes = {"files inserted into a document (altChunk), left out": inserted}
        yield parsed


def _levels(container: Container, styles: str) -> dict[str, int]:
    """Return the heading level of each style that is a heading; names of styles are in English in every language."""
    if styles not in container:
        return {}
    levels = {}
    for style in container.xml(styles):
        name = next((attribute(child, "val") for child in style if local(child) == "name"), "")
        if match := _HEADING.match(name):
            levels[attribute(style, "styleId")] = int(match[1])
        elif name.lower() == "title":
            levels[attribute(style, "styleId")] = 1
    return levels


def _paragraphs(root: Element) -> Iterator[Element]:
    """Yield the paragraphs in order; a paragraph inside a paragraph (a text box) comes after it."""
    return (element for element in walk(root, _TWINS) if local(element) == "p")


def _style(paragraph: Element) -> str:
    """Return the paragraph's own style, not that of a text box inside it or of its state before a tracked change."""
    properties = (element for part in paragraph if local(part) == "pPr" for element in part)
    return next((attribute(element, "val") for element in properties if local(element) == "pStyle"), "")


def _text(paragraph: Element) -> str:
    parts: list[str] = []
    stack = list(reversed(paragraph))
    while stack:
        element = stack.pop()
        name = local(element)
        if name in _SKIPPED or name == "p":
            continue
        if name == "t":
            parts.append(element.text or "")
        parts.append(_BREAKS.get(name, ""))
        stack.extend(reversed(element))
    return "".join(parts)
