"""Texts of slides, diagrams and charts of Office files (DrawingML, ISO/IEC 29500-1, part 21)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from longrank.formats.note_marks import is_mark
from longrank.formats.parsed.omml import laid_out
from longrank.formats.parsed.zipped import Container, Relation, attribute, local, walk

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_SKIPPED = ("numRef", "numLit", "numDim")
_DRAWINGS = ("diagramData", "chart", "chartEx")  # the last are charts since Office 2016, such as funnels


def drawn_paragraph(runs: Iterable[Element]) -> str:
    """Return the text of a paragraph of DrawingML, or of some of its runs, in lines."""
    parts: list[str] = []
    stack: list[Element | str] = [*runs]
    stack.reverse()
    while stack:
        element = stack.pop()
        if isinstance(element, str):
            parts.append(element)
        else:
            name = local(element)
            parts.append(element.text or "" if name == "t" else "\n" if name == "br" else "")
            stack.extend(reversed(laid_out(element)))
            if name == "r" and _is_raised(element) and is_mark("".join(parts[-9:]), "".join(element.itertext())):
                parts.append(" ")
    return "".join(parts).strip()


def _is_raised(run: Element) -> bool:
    return any(
        attribute(part, "baseline") not in ("", "0") and attribute(part, "baseline")[0] != "-"
        for part in run
        if local(part) == "rPr"
    )


def drawn_texts(container: Container, found: Sequence[Relation]) -> Iterator[str]:
    """Yield the texts of diagrams (SmartArt) and charts among relations, a line for each text of a drawing.

    Of a chart, these are its titles, categories and names of series; its numbers are left out.
    """
    for part in dict.fromkeys(relation.part for relation in found if relation.kind in _DRAWINGS):
        lines: dict[str, None] = {}
        for element in (e for root in container.beside(part) for e in walk(root, _SKIPPED)):
            if local(element) == "p":
                lines[drawn_paragraph(element)] = None
            elif local(element) in ("v", "pt") and not (element.text or "").strip().replace(".", "", 1).isdigit():
                lines[(element.text or "").strip()] = None
        yield "\n".join(filter(None, lines))
