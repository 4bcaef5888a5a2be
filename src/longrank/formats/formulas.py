"""Formulas as text in lines: fractions with their bars, operands with their brackets, names of functions apart.

Without them ``1/2`` reads as 12. Office files hold formulas as OMML (ISO/IEC 29500-1, part 22.1), pages and books as
MathML. Superscripts and subscripts follow their base at once, as in the text of pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

# --- OMML -----------------------------------------------------------------------------------------

_BETWEEN = {"m": "; ", "mr": " ", "eqArr": "\n", "func": " ", "limLow": " ", "limUpp": " "}
"""Signs between the operands of an element: rows and cells of a matrix, equations, a function's name and argument."""
_SIMPLE = re.compile(r"[^\W\d_]*|[\d.,]*")
_COMPOUND = frozenset({"f", "rad", "nary", "func", "d"})
_MOST_LOOKED_AT = 50  # elements, to see whether an operand needs brackets: nested fractions take linear time


def laid_out(element: Element) -> list[Element | str]:
    """Return the children of an element of an Office file in the order of reading, with the signs between them.

    Of elements that are not of formulas, these are the children alone.
    """
    name = _local(element)
    if not element.tag.endswith(f"/math}}{name}"):
        return [*element]
    return _formula(element, name, [child for child in element if not _local(child).endswith("Pr")])


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


def _local(element: Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _property(element: Element, name: str, default: str) -> str:
    """Return a value of the element's properties; an empty value is a sign that is not shown."""
    properties = (child for part in element if _local(part).endswith("Pr") for child in part)
    found = next((child for child in properties if _local(child) == name), None)
    return default if found is None else next(iter(found.attrib.values()), "")


def _with_mixed_numbers(operands: Sequence[Element]) -> list[Element | str]:
    """Put a blank between a number and a fraction: 2 1/2."""
    parts: list[Element | str] = []
    for before, operand in zip([None, *operands], operands, strict=False):
        text = (
            "".join(before.itertext())
            if before is not None and _local(before) == "r" and _local(operand) == "f"
            else ""
        )
        parts += [" ", operand] if text[-1:].isdigit() else [operand]
    return parts


def _bracketed(operand: Element) -> list[Element | str]:
    inside = [part for part in operand if not _local(part).endswith("Pr")]
    if len(inside) == 1 and _local(inside[0]) == "d":
        return [operand]
    below = list(islice(operand.iter(), _MOST_LOOKED_AT))
    text = "".join(part.text or "" for part in below if _local(part) == "t")
    is_alone = len(below) < _MOST_LOOKED_AT and not any(_local(part) in _COMPOUND for part in below)
    return [operand] if is_alone and _SIMPLE.fullmatch(text) else ["(", operand, ")"]


def _joined(operands: Iterable[Sequence[Element | str]], between: str) -> list[Element | str]:
    parts: list[Element | str] = []
    for number, operand in enumerate(operands):
        parts += [between, *operand] if number else operand
    return parts


# --- MathML ---------------------------------------------------------------------------------------

_TAG = re.compile(r"<(/?)(?:[\w-]{1,20}:)?([a-zA-Z][\w-]*+)([^<>]*+)>")
_NO_BAR = re.compile(r"""\blinethickness\s*=\s*["']?0""")
_SHOWN = re.compile("<(?:[\\w-]{1,20}:)?m(?:frac|sqrt|root)", re.IGNORECASE)
_ROWS = frozenset({"mrow", "mstyle", "mpadded"})
_BARS = {"mfrac": "/", "mroot": "^1/"}
"""Element -> the sign between its two operands: the third root of x is x^1/3."""


@dataclass(slots=True)
class _Open:
    """An open element of a formula: its name, the sign between its two operands, its children so far, and its place."""

    name: str
    bar: str
    n_children: int
    place: int
    last: str = ""  # name of its last child
    holds_compound: bool = False  # a row of several parts, or a fraction


def with_bars(markup: str) -> str:
    """Return the markup of a page with the signs of MathML's fractions and roots, and brackets around long operands.

    A formula that is not well formed gets no signs behind its fault. Time is linear in the length.
    """
    if not _SHOWN.search(markup):
        return markup
    parts: list[str] = []
    opened: list[_Open] = []
    position = 0
    for tag in _TAG.finditer(markup):
        name = tag[2].lower()
        if not opened and (tag[1] or name != "math"):
            continue
        parts.append(markup[position : tag.start()])
        position = tag.end()
        if tag[1]:
            parts += [tag[0], _closed(name, opened, parts)]
        else:
            parts += [_bar(name, opened), "", tag[0]]
            if not tag[3].endswith("/"):
                bar = " " if name == "mfrac" and _NO_BAR.search(tag[3]) else _BARS.get(name, "")
                opened.append(_Open(name, bar, 0, len(parts) - 2))
    return "".join([*parts, markup[position:]])


def _bar(name: str, opened: list[_Open]) -> str:
    """Count a child of the innermost element; return the sign before it: a bar, or a blank within 2 1/2."""
    if not opened:
        return ""
    around = opened[-1]
    is_mixed = around.last == "mn" and name == "mfrac"
    around.n_children, around.last = around.n_children + 1, name
    return around.bar if around.bar and around.n_children == 2 else " " * (is_mixed and not around.bar)


def _closed(name: str, opened: list[_Open], parts: list[str]) -> str:
    """Close the innermost element, with signs at its place; return the bracket behind it."""
    element = opened.pop()
    if element.name != name:
        opened.clear()
        return ""
    is_compound = element.n_children > 1 or element.holds_compound
    brackets = is_compound and name == "msqrt"
    if opened and name in _ROWS | _BARS.keys():
        opened[-1].holds_compound |= is_compound
        brackets = is_compound and bool(opened[-1].bar)
    parts[element.place] = "√" * (name == "msqrt") + "(" * brackets
    return ")" * brackets
