"""Text layer of a PDF page, repaired where the places of its characters show that PDFium has misread it.

- A blank before a hyphen at a line end is left out if PDFium has made it of a gap: justified lines set hyphens apart.
- Some fonts name their hyphen a soft one: its glyph is a bar, less than half as large as the letter before. Soft
  hyphens that the page does not show have the box of that letter, and are left out.
- A line end is left out if the next character follows on the same baseline; behind a small gap, it is a blank. PDFium
  ends a line before objects of one glyph, such as ligatures, on pages of short lines.
"""

from __future__ import annotations

import re
from ctypes import c_double
from typing import Any

import pypdfium2.raw as pdfium

from longrank.formats.parsed.right_to_left import LETTERS, ordered

_BAR = 0.5  # the area of a hyphen, of the letter before it; that of Helvetica has 0.3 of a narrow l
_LEVEL, _ADJACENT, _BLANK = 0.02, 0.15, 0.5  # em: of a baseline; of gaps in a word; of gaps between words
_DOUBTFUL = re.compile(
    "(?P<blank>(?<=[^\\W_]) (?=[-\u2010\u2011](?:\r\n|\\Z)))|(?P<soft_hyphen>(?<=[^\\W_])\xad)"
    f"|(?P<right_to_left>[{LETTERS}]+(?:\r\n[{LETTERS}]+)*)|(?P<line_end>\r\n)"
)


def text_of(layer: Any) -> str:
    """Return the text of a page."""
    text: str = layer.get_text_range()
    repairs = {"blank": _blank, "soft_hyphen": _soft_hyphen, "right_to_left": _right_to_left, "line_end": _line_end}
    return _DOUBTFUL.sub(lambda found: repairs[found.lastgroup or ""](layer, found), text)


def _blank(layer: Any, found: re.Match[str]) -> str:
    """Leave out a blank that PDFium has made, unless it makes all blanks: TeX writes none."""
    last = found.string.rfind(" ", 0, found.start())
    glyph_before = last >= 0 and pdfium.FPDFText_IsGenerated(layer, _place(layer, last)) == 0
    return "" if glyph_before and pdfium.FPDFText_IsGenerated(layer, _place(layer, found.start())) == 1 else " "


def _soft_hyphen(layer: Any, found: re.Match[str]) -> str:
    place = _place(layer, found.start())
    if not _is_at(layer, place, "\xad"):
        return "\xad"
    boxes = (layer.get_charbox(place - 1), layer.get_charbox(place))
    before, own = ((right - left) * (top - bottom) for left, bottom, right, top in boxes)
    return "\xad" if own < _BAR * before else ""


def _right_to_left(layer: Any, found: re.Match[str]) -> str:
    word, place = found[0], _place(layer, found.start())
    is_whole = all(_is_at(layer, place + number, character) for number, character in enumerate(word))
    return ordered(layer, word, place) if len(word) > 1 and is_whole else word


def _line_end(layer: Any, found: re.Match[str]) -> str:
    place = _place(layer, found.start())
    start, level = c_double(), c_double()
    pdfium.FPDFText_GetCharOrigin(layer, place - 1, start, level)
    level_before = level.value
    pdfium.FPDFText_GetCharOrigin(layer, place + 2, start, level)
    em = pdfium.FPDFText_GetFontSize(layer, place + 2)
    if abs(level.value - level_before) > _LEVEL * em or not _is_at(layer, place, "\r"):
        return "\r\n"
    gap = start.value - layer.get_charbox(place - 1, loose=True)[2]
    if abs(gap) < _ADJACENT * em:
        return ""
    return " " if 0 < gap < _BLANK * em else "\r\n"


def _place(layer: Any, offset: int) -> int:
    """Return the number of the character at an offset in the text, which lacks control characters."""
    return int(pdfium.FPDFText_GetCharIndexFromTextIndex(layer, offset))


def _is_at(layer: Any, place: int, character: str) -> bool:
    return bool(pdfium.FPDFText_GetUnicode(layer, place) == ord(character))
