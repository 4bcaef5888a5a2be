"""Formulas of Office files (OMML, ISO/IEC 29500-1, part 22.1) as text in lines.

Fractions have their bars, operands their brackets, and functions a blank behind their name: without them, ``1/2`` reads
as 12. Superscripts and subscripts follow their base at once, as in the text of pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING

from longrank.formats.parsed.zipped import local

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_BETWEEN = {"m": "; ", "mr": " ", "eqArr": "\n", "func": " ", "limLow": " ", "limUpp": " "}
"""Signs between the operands of an element: rows and cells of a matrix, equations, a function's name and argument."""
_SIMPLE = re.compile(r"[^\W\d_]*|[\d.,]*")
_COMPOUND = frozenset({"f", "rad", "nary", "func", "d"})
_MOST_LOOKED_AT = 50  # elements, to see whether an operand needs brackets: nested fractions take linear time


def laid_out(element: Element) -> list[Element | str]:
    """Return the children of an element of an Office file in the order of reading, with the signs between them.

    Of elements that are not of formulas, these are the children alone.
    """
    name = local(element)
    if not element.tag.endswith(f"/math}}{name}"):
        return [*element]
    return _formula(element, name, [child for child in element if not local(child).endswith("Pr")])


def _formula(element: Element, name: str, operands: Sequence[Element]) -> list[Element | str]:
    if name == "f":
        return _joined(map(_bracketed, operands), " " if _property(element, "type", "bar") == "noBar" else "/")
    if name == "d":
        begin, end = _property(element, "begChr", "("), _property(element, "endChr", ")")
        return [begin, *_joined(([each] for each in operands), _property(element, "sepChr", "|")), end]
    if name == "rad":
        return [*operands[:-1], "√", *chain.from_iterable(map(_bracketed, operands[-1:]))]
    if name == "nary":
        return [_property(element, "chr", "∫"), *operands[:-1], " ", *operands[-1:]]
    if name not in _BETWEEN:
        return _with_mixed_numbers(operands)
    return _joined(([each] for each in operands), _BETWEEN[name])


def _property(element: Element, name: str, default: str) -> str:
    """Return a value of the element's properties; an empty value is a sign that is not shown."""
    properties = (child for part in element if local(part).endswith("Pr") for child in part)
    found = next((child for child in properties if local(child) == name), None)
    return default if found is None else next(iter(found.attrib.values()), "")


def _with_mixed_numbers(operands: Sequence[Element]) -> list[Element | str]:
    """Put a blank between a number and a fraction: 2 1/2."""
    parts: list[Element | str] = []
    for before, operand in zip([None, *operands], operands, strict=False):
        text = (
            "".join(before.itertext()) if before is not None and local(before) == "r" and local(operand) == "f" else ""
        )
        parts += [" ", operand] if text[-1:].isdigit() else [operand]
    return parts


def _bracketed(operand: Element) -> list[Element | str]:
    inside = [part for part in operand if not local(part).endswith("Pr")]
    if len(inside) == 1 and local(inside[0]) == "d":
        return [operand]
    below = list(islice(operand.iter(), _MOST_LOOKED_AT))
    text = "".join(part.text or "" for part in below if local(part) == "t")
    is_alone = len(below) < _MOST_LOOKED_AT and not any(local(part) in _COMPOUND for part in below)
    return [operand] if is_alone and _SIMPLE.fullmatch(text) else ["(", operand, ")"]


def _joined(operands: Iterable[Sequence[Element | str]], between: str) -> list[Element | str]:
    parts: list[Element | str] = []
    for number, operand in enumerate(operands):
        parts += [between, *operand] if number else operand
    return parts
