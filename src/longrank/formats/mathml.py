"""Formulas of pages and books (MathML) with the signs of fractions and roots, and brackets around long operands.

Without them, ``1/2`` reads as 12. Superscripts and subscripts follow their base at once, as other raised text does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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
