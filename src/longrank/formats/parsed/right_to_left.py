"""Words of Hebrew, Arabic and other letters that are read from the right, in the order of their places on a PDF page.

PDFium reverses each run of such letters. Chromium has its glyphs in the order of reading, so their words come reversed.

- A word whose last letter stands right of its first is put in the order of the right edges of its letters. Letters
  of slanting scripts overlap, so smaller steps to the right change nothing. Line ends that PDFium makes between letters
  that touch on one baseline are left out.
- The two letters of the ligature of lam and alef have one place; lam comes first.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from ctypes import c_double
from typing import Any, NamedTuple

import pypdfium2.raw as pdfium

LETTERS = (  # and vowel signs; no digits and punctuation
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u05d0-\u05f2\u0610-\u061a\u0620-\u065f\u066e-\u06d3\u06d5-\u06dc"
    "\u06df-\u06e8\u06ea-\u06ef\u06fa-\u06fc\u06ff\u0710-\u07bf\u07ca-\u07f5\u0800-\u0815\u0840-\u085b\u0860-\u08ff"
    "\ufb1d-\ufbb1\ufbd3-\ufdfb\ufe70-\ufefc"
)
SAME_LEVEL = 0.1  # points between equal baselines
_ADJACENT = 0.05  # of the height of letters: gaps in a word
_ALEF_LAM = re.compile("[\u0622\u0623\u0625\u0627\u0671]\u0644")


class _Glyph(NamedTuple):
    place: int
    character: str
    left: float
    right: float
    level: float
    height: float


def ordered(layer: Any, word: str, place: int) -> str:
    """Return a word, which may have line ends, whose first character is the one at `place` of a layer."""
    last = place + len(word) - 1
    if "\r" not in word and origin(layer, last)[0] <= origin(layer, place)[0]:
        return _with_ligatures(layer, word, range(place, last + 1))
    words: list[list[_Glyph]] = []
    for part in re.finditer("[^\r\n]+", word):
        glyphs = [_glyph(layer, place + part.start() + number, letter) for number, letter in enumerate(part[0])]
        if words and _touch(words[-1], glyphs):
            words[-1] += glyphs
        else:
            words.append(glyphs)
    return "\r\n".join(_from_right(layer, glyphs) for glyphs in words)


def _from_right(layer: Any, word: list[_Glyph]) -> str:
    letters = [glyph for glyph in word if not unicodedata.combining(glyph.character)]
    if letters and origin(layer, letters[-1].place)[0] > origin(layer, letters[0].place)[0]:
        word = sorted(word, key=lambda glyph: -glyph.right)
    return _with_ligatures(layer, "".join(glyph.character for glyph in word), [glyph.place for glyph in word])


def _with_ligatures(layer: Any, word: str, places: Sequence[int]) -> str:
    def pair(found: re.Match[str]) -> str:
        alef, lam = (origin(layer, places[number]) for number in (found.start(), found.start() + 1))
        return found[0][::-1] if alef == lam else found[0]

    return _ALEF_LAM.sub(pair, word)


def _glyph(layer: Any, place: int, character: str) -> _Glyph:
    left, bottom, right, top = layer.get_charbox(place, loose=True)
    return _Glyph(place, character, left, right, origin(layer, place)[1], top - bottom)


def origin(layer: Any, place: int) -> tuple[float, float]:
    """Return where a character begins, and the height of its baseline, in points."""
    x, y = c_double(), c_double()
    pdfium.FPDFText_GetCharOrigin(layer, place, x, y)
    return x.value, y.value


def _touch(word: list[_Glyph], more: list[_Glyph]) -> bool:
    (left, right), (next_left, next_right) = _extent(word), _extent(more)
    gap = min(abs(left - next_right), abs(next_left - right))
    return abs(word[-1].level - more[0].level) <= SAME_LEVEL and gap < _ADJACENT * max(glyph.height for glyph in more)


def _extent(word: list[_Glyph]) -> tuple[float, float]:
    return min(glyph.left for glyph in word), max(glyph.right for glyph in word)
