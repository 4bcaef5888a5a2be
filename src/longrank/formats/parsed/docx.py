"""Word files (DOCX, ISO/IEC 29500): paragraphs, tables, headings, notes; no macro, field or link is followed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from longrank.formats.note_marks import is_mark
from longrank.formats.parsed import Parsed
from longrank.formats.parsed.drawings import drawn_texts
from longrank.formats.parsed.omml import laid_out
from longrank.formats.parsed.symbol_fonts import symbol, symbols
from longrank.formats.parsed.writer import TextWriter
from longrank.formats.parsed.zipped import (
    CORE,
    EMBEDDED,
    Container,
    attribute,
    local,
    n_embedded,
    office_document,
    opened,
    related,
    relations,
    walk,
)
from longrank.formats.ruby import in_brackets

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_BODY, _STYLES = "word/document.xml", "word/styles.xml"
_BREAKS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_GONE = frozenset({"del", "moveFrom"})  # deleted or moved text
_SKIPPED = _GONE | {"instrText", "pPr", "rPr"}  # field codes and properties
_WHOLE = ("fldChar", "ruby")  # read with all that is in them
_FORMULAS = ("oMathPara", "oMath")
_BLOCKS = ("body", "tc", "txbxContent", "hdr", "ftr", "footnote", "endnote", "comment")  # hold paragraphs
_HEADING = re.compile(r"heading ([1-9])$", re.IGNORECASE)
_HEIGHTS = ("vertAlign", "position")  # position is in half points, below 0 under the line
_NOTES = ("footnotes", "endnotes")
_OUTLINE = {**{str(level): level + 1 for level in range(9)}, "9": 0}  # 9 is text
_MOST_BASES = 20  # a style that is based on itself is damaged
_ASIDE = ("comments", "header", "footer")


def read_docx(path: str) -> Iterator[Parsed]:
    """Yield the document of a Word file.

    Raises:
        Unreadable: damaged or encrypted.
    """
    with opened(path) as container:
        writer = TextWriter()
        whole = relations(container, "")
        body = related(whole, "officeDocument", _BODY)
        others = relations(container, body)
        styles = related(others, "styles", _STYLES)
        levels, raised = _levels(container, styles), _raising_styles(container, styles)
        notes = (related(others, kind, f"word/{kind}.xml") for kind in _NOTES)
        for name in (body, *(name for name in notes if name in container)):
            for paragraph in _paragraphs(container.xml(name)):
                level = _level(paragraph)
                writer.add(_text(paragraph, raised), levels.get(_style(paragraph), 0) if level is None else level)
        aside: dict[str, int] = {}  # headers of first, even and odd pages are often the same
        for part in dict.fromkeys(relation.part for kind in _ASIDE for relation in others if relation.kind == kind):
            for root in container.beside(part):
                for paragraph in _paragraphs(root):
                    aside.setdefault(_text(paragraph, raised), _level(paragraph) or 0)
        for text, level in aside.items():
            writer.add(text, level)
        for text in drawn_texts(container, others):
            writer.add(text)
        inserted = sum(relation.kind == "aFChunk" for relation in others)
        left_out = {"files inserted into a document (altChunk), left out": inserted, EMBEDDED: n_embedded(others)}
        yield office_document(container, writer, related(whole, "core-properties", CORE), left_out)


def _levels(container: Container, styles: str) -> dict[str, int]:
    """Return the heading level of each style that names or inherits a level; 0: it is explicitly text.

    Names of styles are in English in every language.
    """
    if styles not in container:
        return {}
    levels: dict[str, int] = {}
    bases: dict[str, str] = {}
    for style in container.xml(styles):
        key = attribute(style, "styleId")
        name = next((attribute(child, "val") for child in style if local(child) == "name"), "")
        if match := _HEADING.match(name):
            levels[key] = int(match[1])
        elif name.lower() == "title":
            levels[key] = 1
        elif (level := _level(style)) is not None:
            levels[key] = level
        else:
            bases[key] = next((attribute(child, "val") for child in style if local(child) == "basedOn"), "")
    for key, base in bases.items():
        steps = 0
        while base in bases and steps < _MOST_BASES:
            base, steps = bases[base], steps + 1  # noqa: PLW2901
        if base in levels:
            levels[key] = levels[base]
    return levels


def _raising_styles(container: Container, styles: str) -> set[str]:
    """Return the character styles that raise letters."""
    found = container.xml(styles) if styles in container else ()
    return {attribute(style, "styleId") for style in found if _raises(_run_properties(style))}


def _run_properties(element: Element) -> dict[str, Element]:
    return {local(child): child for part in element if local(part) == "rPr" for child in part}


def _raises(properties: Mapping[str, Element]) -> bool | None:
    """Tell whether properties of a run raise its letters; None if they say nothing of it."""
    align, position = (attribute(properties[name], "val") if name in properties else "" for name in _HEIGHTS)
    return align == "superscript" or position[:1].isdigit() if align or position not in ("", "0") else None


def _level(element: Element) -> int | None:
    """Return the outline level of a paragraph or a style, from 1 to 9; 0 if it is explicitly text; None if unsaid."""
    properties = (child for part in element if local(part) == "pPr" for child in part)
    value = next((attribute(child, "val") for child in properties if local(child) == "outlineLvl"), "")
    return _OUTLINE.get(value)


def _paragraphs(root: Element) -> Iterator[Element]:
    """Yield paragraphs, and formulas in no paragraph, in order; a paragraph in a paragraph (a text box) is after it."""
    stack = [(root, False)]
    while stack:
        element, is_inside = stack.pop()  # is_inside: of a paragraph or a formula
        name = local(element)
        if name in _GONE:
            continue
        if name == "p" or (name in _FORMULAS and not is_inside):
            yield element
        is_inside = name == "p" or name in _FORMULAS or (is_inside and name not in _BLOCKS)
        stack.extend((child, is_inside) for child in reversed(element))


def _style(paragraph: Element) -> str:
    """Return the paragraph's own style, not that of a text box inside it or of its state before a tracked change."""
    properties = (element for part in paragraph if local(part) == "pPr" for element in part)
    return next((attribute(element, "val") for element in properties if local(element) == "pStyle"), "")


def _text(paragraph: Element, raised: Collection[str]) -> str:
    """Return the text of a paragraph as Word shows it: of fields the results, of formulas a line.

    `raised` are the character styles that raise letters.
    """
    line = _Line(raised)
    stack: list[Element | str] = list(reversed(paragraph))
    while stack:
        element = stack.pop()
        if isinstance(element, str):
            line.add(element)
        elif (name := local(element)) not in _SKIPPED and name not in _BLOCKS and name != "p":
            line.read(element, name)
            stack.extend(() if name in _WHOLE else reversed(laid_out(element)))
    return line.text()


class _Line:
    def __init__(self, raised: Collection[str]) -> None:
        self._raised = raised
        self._parts: list[str] = []
        self._fields: list[_Field] = []  # that are open
        self._code: list[str] = []  # texts in codes of fields, shown if the paragraph ends within a code
        self._readings: list[str] = []  # of the last letters (ruby)
        self._font = ""
        self._is_raised = False

    def add(self, text: str) -> None:
        """Add a text, unless it belongs to the code of a field."""
        if text and not all(field.has_result for field in self._fields):
            self._code.append(text)
        elif text:
            self._parts += [part for part in (in_brackets(self._readings), text) if part]
            self._readings = []

    def read(self, element: Element, name: str) -> None:
        """Add what an element itself shows, without the elements below it but those of `_WHOLE`."""
        if name == "r":
            properties = _run_properties(element)
            self._font = attribute(properties["rFonts"], "ascii") if "rFonts" in properties else ""
            style = attribute(properties["rStyle"], "val") if "rStyle" in properties else ""
            raises = _raises(properties)
            self._is_raised = style in self._raised if raises is None else raises
        elif name == "t":
            text = element.text or ""
            before = "".join(self._parts[-8:]) if self._is_raised else ""
            self.add(" " * (self._is_raised and is_mark(before, text)) + symbols(self._font, text))
        elif name == "textpath":  # letters on a curve (WordArt), a watermark
            self.add(attribute(element, "string"))
        elif name == "sym":
            self.add(symbol(attribute(element, "font"), attribute(element, "char")))
        elif name == "fldChar":
            self._follow(element)
        elif name == "ruby":
            readings, self._readings = self._readings, []
            self.add(_plain(element, "rubyBase"))
            self._readings = [*readings, _plain(element, "rt")]
        else:
            self.add(_BREAKS.get(name, ""))

    def _follow(self, mark: Element) -> None:
        """Follow the marks of fields, which may lie in each other's codes and results."""
        kind = attribute(mark, "fldCharType")
        if kind == "begin":
            self._fields.append(_Field(_chosen(mark)))
        elif kind == "separate" and self._fields:
            self._fields[-1].has_result, self._fields[-1].place = True, len(self._parts)
        elif kind == "end" and self._fields:
            field = self._fields.pop()
            self.add(field.chosen if not field.has_result or field.place == len(self._parts) else "")
        if all(field.has_result for field in self._fields):
            self._code.clear()

    def text(self) -> str:
        return "".join([*self._parts, in_brackets(self._readings), *self._code])


@dataclass(slots=True)
class _Field:
    """An open field: the entry chosen from its list, whether its result has begun, and where in the line."""

    chosen: str
    has_result: bool = False
    place: int = 0


def _plain(element: Element, kind: str) -> str:
    """Return the text of an element's children of a kind."""
    children = (child for child in element if local(child) == kind)
    return "".join(part.text or "" for child in children for part in walk(child, _SKIPPED) if local(part) == "t")


def _chosen(field: Element) -> str:
    """Return the chosen entry of a field that is a list to choose from; empty for other fields."""
    values: dict[str, list[str]] = {"result": [], "default": [], "listEntry": []}
    for part in walk(field, ()):
        values.get(local(part), []).append(attribute(part, "val"))
    number, entries = (values["result"] or values["default"] or ["0"])[0], values["listEntry"]
    return entries[int(number)] if number.isdecimal() and int(number) < len(entries) else ""
