"""Words of a PDF page whose letters are set apart: PDFium makes blanks between some of their letters.

Such a blank is about as wide as the gaps between letters that stand side by side, which are near 0 in most fonts. The
gaps between the words of its line are far wider, and alike. Cells of a table whose letters are set apart look the
same, but few of them are single letters.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import islice
from statistics import median
from typing import Any

import pypdfium2.raw as pdfium

from longrank.formats.parsed.right_to_left import origin

_SHORT, _SHORT_SHARE = 2, 0.3  # letters of a word, and share of such words in lines whose words may be broken
_PAIR, _PAIRS, _FEWEST_PAIRS = re.compile(r"[^\W_](?=[^\W_])"), 32, 5  # letters side by side, and how many are measured
_SINGLE = re.compile(r"(?:\s\S|\S) (?=\S)|\S{2} \S(?![^\W_])")  # a blank with a single letter before or behind it
_SINGLE_SHARE = 0.4  # of the blanks within words
_ALIKE, _WIDER = 1.4, 2.0  # gaps within words, of gaps between letters; gaps between words, of gaps within words

LEFT_OUT = "\uffff"
"""Mark in place of a blank within a word; no text has it."""

Place = Callable[[int], int]
"""Gives the number of the character at an offset of the text."""


def marked(layer: Any, text: str, place_of: Place) -> str:
    """Return the text of a page with marks in place of the blanks within words, whose letters are set apart."""
    lines = [(found.start(), found[0]) for found in re.finditer("[^\r\n]+", text)]
    doubtful = [(start, line) for start, line in lines if _has_short_words(line)]
    apart = [gap for start, line in doubtful for gap in _letter_gaps(layer, line, start, place_of)]
    within_words = partial(_within_words, layer, place_of=place_of, usual=_most(apart))
    if not any(within_words(line, start) for start, line in doubtful):
        return text
    places = {place for start, line in lines for place in within_words(line, start)}
    n_letters = sum(_SINGLE.match(text, max(0, place - 2)) is not None for place in places)
    if n_letters < _SINGLE_SHARE * len(places):  # else these are cells of a table, whose letters are set apart
        return text
    return "".join(LEFT_OUT if place in places else letter for place, letter in enumerate(text))


def _letter_gaps(layer: Any, line: str, start: int, place_of: Place) -> list[float]:
    """Return gaps between letters of a line that stand side by side, without a blank: near 0 in most fonts."""
    places = [place_of(start + found.start()) for found in islice(_PAIR.finditer(line), _PAIRS)]
    return [_gap_behind(layer, place, place + 1) for place in places]


def _most(gaps: list[float]) -> float:
    """Return the gap that four fifths of gaps do not exceed: kerned letters (To, Av) stand nearer; 0 of none."""
    return sorted(gaps)[4 * len(gaps) // 5] if gaps else 0.0


def _has_short_words(line: str) -> bool:
    words = line.split()
    return sum(len(word) <= _SHORT for word in words) > max(2, _SHORT_SHARE * len(words))


def _within_words(layer: Any, line: str, start: int, *, place_of: Place, usual: float) -> list[int]:
    """Return the offsets of the blanks of a line that are about as wide as the gaps between its letters.

    PDFium has made all blanks of such a line, and the gaps between words are far wider, and alike. `usual`: the gap
    between letters of the page, for a line with few letters side by side.
    """
    blanks = [start + found.start() for found in re.finditer(r"(?<=\S) (?=\S)", line)]
    places = [place_of(blank) for blank in blanks]
    if not blanks or not all(pdfium.FPDFText_IsGenerated(layer, place) == 1 for place in places):
        return []
    letter_gaps = _letter_gaps(layer, line, start, place_of)
    apart = _most(letter_gaps) if len(letter_gaps) >= _FEWEST_PAIRS else usual
    gaps = dict(zip(blanks, (width_of_blank(layer, place) for place in places), strict=True))
    within = {blank: gap for blank, gap in gaps.items() if gap < _ALIKE * apart}
    between = [gap for blank, gap in gaps.items() if blank not in within]
    if not within or len(between) < 2 or max(between) > 2 * min(between):
        return []
    if min(between) < _WIDER * max(within.values()):
        return []
    beside = partial(_is_beside_letters_apart, layer, line, start=start, place_of=place_of)
    return [blank for blank, gap in within.items() if beside(blank - start, gap)]


def _is_beside_letters_apart(layer: Any, line: str, blank: int, gap: float, *, start: int, place_of: Place) -> bool:
    """Tell whether the words on both sides of a blank have their letters apart, too, and no digits at the blank."""
    if line[blank - 1].isdigit() or line[blank + 1].isdigit():
        return False
    begins, ends = line.rfind(" ", 0, blank) + 1, line.find(" ", blank + 1)
    words = [(begins, line[begins:blank]), (blank + 1, line[blank + 1 : ends if ends > 0 else None])]
    spacings = [_letter_gaps(layer, word, start + at, place_of) for at, word in words]
    return all(gap < _WIDER * median(spacing) for spacing in spacings if spacing)


def width_of_blank(layer: Any, place: int) -> float:
    """Return the width of the blank at a place."""
    return _gap_behind(layer, place - 1, place + 1)


def _gap_behind(layer: Any, place: int, following: int) -> float:
    """Return the width between a character and the one that follows."""
    start, _ = origin(layer, following)
    _, _, end, _ = layer.get_charbox(place, loose=True)
    return float(start - end)
