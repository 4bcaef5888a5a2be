"""Presentations (PPTX, ISO/IEC 29500): a slide is a page; drawings, comments and speaker notes follow it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from longrank.formats.parsed import Parsed
from longrank.formats.parsed.drawings import drawn_paragraph, drawn_texts
from longrank.formats.parsed.writer import TextWriter
from longrank.formats.parsed.zipped import (
    CORE,
    EMBEDDED,
    attribute,
    local,
    n_embedded,
    office_document,
    opened,
    related,
    relations,
)

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_SHOW = "ppt/presentation.xml"
_TITLES = ("title", "ctrTitle")
_SKIPPED = ("sldNum", "sldImg")
_REPEATED = ("dt", "ftr", "hdr")  # mostly the same on every slide
_CHANGING = ("slidenum", "datetime")  # fields: the number of the slide, and the day on which it is shown


def read_pptx(path: str) -> Iterator[Parsed]:
    """Yield the document of a presentation.

    Raises:
        Unreadable: damaged or encrypted.
    """
    with opened(path) as container:
        writer = TextWriter()
        whole = relations(container, "")
        show = related(whole, "officeDocument", _SHOW)
        slides = {relation.key: relation.part for relation in relations(container, show)}
        footers: set[str] = set()
        embedded = 0
        for slide in _slides(container.xml(show)):
            name = slides.get(_relation(slide), "")
            writer.page()
            _add_shapes(container.xml(name), writer, footers)
            others = relations(container, name)
            embedded += n_embedded(others)
            for text in drawn_texts(container, others):
                writer.add(text)
            for other in others:
                if other.kind == "comments":
                    for root in container.beside(other.part):
                        _add_comments(root, writer)
                if other.kind == "notesSlide" or "/notesSlides/" in other.part:
                    _add_shapes(container.xml(other.part), writer, footers)
        yield office_document(container, writer, related(whole, "core-properties", CORE), {EMBEDDED: embedded})


def _slides(show: Element) -> Iterator[Element]:
    """Yield the slides in the order of the show; its sections, deeper in the part, name the slides a second time."""
    for part in show:
        if local(part) == "sldIdLst":
            yield from (element for element in part if local(element) == "sldId")


def _relation(slide: Element) -> str:
    return next((value for key, value in slide.attrib.items() if key.endswith("}id")), "")


def _add_shapes(root: Element, writer: TextWriter, footers: set[str]) -> None:
    """Add the texts of shapes; those of headers, footers and fixed dates if they are not among `footers` so far."""
    for shape in (element for element in root.iter() if local(element) in ("sp", "graphicFrame")):
        kind = next((attribute(e, "type") for e in shape.iter() if local(e) == "ph"), "")
        paragraphs = [element for element in shape.iter() if local(element) == "p"]
        if kind in _REPEATED:
            text = _in_lines([run for run in paragraph if not _is_changing(run)] for paragraph in paragraphs)
            writer.add("" if text in footers else text)
            footers.add(text)
        elif kind not in _SKIPPED:
            writer.add(_in_lines(paragraphs), 1 if kind in _TITLES else 0)


def _in_lines(paragraphs: Iterable[Iterable[Element]]) -> str:
    return "\n".join(filter(None, map(drawn_paragraph, paragraphs)))


def _is_changing(run: Element) -> bool:
    return local(run) == "fld" and attribute(run, "type").startswith(_CHANGING)


def _add_comments(root: Element, writer: TextWriter) -> None:
    """Add comments of either kind: a text by itself, or paragraphs."""
    for element in root.iter():
        if local(element) == "text":
            writer.add(element.text or "")
        elif local(element) == "p":
            writer.add(drawn_paragraph(element))
