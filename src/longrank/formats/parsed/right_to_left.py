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
from ctypes import c_double
from itertools import pairwise
from typing import Any, NamedTuple

import pypdfium2.raw as pdfium

LETTERS = (  # and vowel signs; no digits and punctuation
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u05d0-\u05f2\u0610-\u061a\u0620-\u065f\u066e-\u06d3\u06d5-\u06dc"
    "\u06df-\u06e8\u06ea-\u06ef\u06fa-\u06fc\u06ff\u0710-\u07bf\u07ca-\u07f5\u0800-\u0815\u0840-\u085b\u0860-\u08ff"
    "\ufb1d-\ufbb1\ufbd3-\ufdfb\ufe70-\ufefc"
)
_LEVEL, _ADJACENT = 0.02, 0.15  # em: of a baseline; of gaps in a word
_ALEF_LAM = re.compile("[\u0622\u0623\u0625\u0627\u0671]\u0644")


class _Glyph(NamedTuple):
    character: str
    start: float
    level: float
    left: float
    right: float
    em: float


def ordered(layer: Any, word: str, place: int) -> str:
    """Return a word, which may have line ends, whose first character is the one at `place` of a layer."""
    words: list[list[_Glyph]] = []
    for part in re.finditer("[^\r\n]+", word):
        glyphs = [_glyph(layer, place + part.start() + number, letter) for number, letter in enumerate(part[0])]
        if words and _touch(words[-1], glyphs):
            words[-1] += glyphs
        else:
            words.append(glyphs)
    return "\r\n".join(map(_from_right, words))


def _glyph(layer: Any, place: int, character: str) -> _Glyph:
    x, y = c_double(), c_double()
    pdfium.FPDFText_GetCharOrigin(layer, place, x, y)
    left, _, right, _ = layer.get_charbox(place, loose=True)
    return _Glyph(character, x.value, y.value, left, right, pdfium.FPDFText_GetFontSize(layer, place))


def _touch(word: list[_Glyph], more: list[_Glyph]) -> bool:
    (left, right), (next_left, next_right) = _extent(word), _extent(more)
    em = more[0].em
    gap = min(abs(left - next_right), abs(next_left - right))
    return abs(word[-1].level - more[0].level) <= _LEVEL * em and gap < _ADJACENT * em


def _extent(word: list[_Glyph]) -> tuple[float, float]:
    return min(glyph.left for glyph in word), max(glyph.right for glyph in word)


def _from_right(word: list[_Glyph]) -> str:
    starts = [glyph.start for glyph in word if not unicodedata.combining(glyph.character)]
    if starts and starts[-1] > starts[0]:
        word = sorted(word, key=lambda glyph: -glyph.right)
    letters = [glyph.character for glyph in word]
    for number, (glyph, following) in enumerate(pairwise(word)):
        if glyph.start == following.start and _ALEF_LAM.fullmatch(glyph.character + following.character):
            letters[number : number + 2] = reversed(letters[number : number + 2])
    return "".join(letters)
