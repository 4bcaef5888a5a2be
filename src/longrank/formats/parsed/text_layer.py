"""Text layer of a PDF page, repaired where the places of its characters show that PDFium has misread it.

- A blank before a hyphen at a line end is left out if PDFium has made it of a small gap: justified lines set hyphens
  apart.
- Some fonts name their hyphen a soft one: its glyph is a bar, less than half as large as the letter before. Soft
  hyphens that the page does not show have the box of that letter, and are left out.
- A line end is left out if the next character follows on the same baseline; behind a small gap, it is a blank. PDFium
  ends a line before objects of one glyph, such as ligatures, on pages of short lines.
- Blanks that PDFium makes between letters set apart are left out where the line's gaps between words are far larger.
- A blank is put before the number of a footnote, which is raised and small: "Harbours1" was one word. Numbers behind
  fewer than four letters are powers (m2).
- Words of letters that are read from the right are put in order (`right_to_left`).
- Pages on which most text runs sideways are turned upright: PDFium gives lines that run down the page in reverse order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from math import degrees
from statistics import median
from typing import Any

import pypdfium2.raw as pdfium

from longrank.formats.note_marks import WORD_END
from longrank.formats.parsed.right_to_left import LETTERS, SAME_LEVEL, ordered, origin

_BAR = 0.5  # the area of a hyphen, of the letter before it; that of Helvetica has 0.3 of a narrow l
_ADJACENT, _BLANK = 0.05, 0.5  # of the height of a line: gaps in a word, and between words
_DOUBTFUL = re.compile(" (?=[-\u2010\u2011](?:\r\n|\\Z))|\xad|\r\n")  # branches that begin with a letter are fast
_FROM_RIGHT = re.compile(f"[{LETTERS}]+(?:\r\n[{LETTERS}]+)*")
_NOTED = re.compile(rf"(?P<noted>{WORD_END})(?P<mark>\d{{1,3}})(?!\w)")
_RAISED, _SMALL = 0.1, 0.9  # of the height of the letter before

_SAMPLE = 64  # characters of a page

_SHORT, _SHORT_SHARE = 2, 0.3  # letters of a word, and share of such words in lines whose words may be broken
_PAIR, _PAIRS, _FEWEST_PAIRS = re.compile(r"[^\W_](?=[^\W_])"), 32, 5  # letters side by side, and how many are measured
_SINGLE = re.compile(r"(?:\s\S|\S) (?=\S)|\S{2} \S(?![^\W_])")  # a blank with a single letter before or behind it
_SINGLE_SHARE = 0.4  # of the blanks within words
_ALIKE, _WIDER = 1.4, 2.0  # gaps within words, of gaps between letters; gaps between words, of gaps within words
_LEFT_OUT = "\uffff"  # which no text has

_Place = Callable[[int], int]  # the number of the character at an offset of the text


def upright_layer(page: Any) -> Any:
    """Return the text layer of a page, which is turned in memory if most of its text runs in another direction."""
    layer = page.get_textpage()
    turns = Counter(_turns(layer, layer.count_chars(), page.get_rotation()))
    turn, count = turns.most_common(1)[0] if turns else (0, 0)
    if turn == 0 or 2 * count <= turns.total():
        return layer
    layer.close()
    page.set_rotation((page.get_rotation() - turn) % 360)
    return page.get_textpage()


def _turns(layer: Any, n: int, rotation: int) -> Iterator[int]:
    """Yield by how many degrees, in steps of 90, characters of a sample are turned clockwise as the page shows them."""
    for place in range(0, n, n // _SAMPLE + 1):
        if pdfium.FPDFText_GetUnicode(layer, place) > ord(" "):
            angle = degrees(pdfium.FPDFText_GetCharAngle(layer, place))
            yield (round(angle / 90) * 90 + rotation) % 360


def lacks_unicode(layer: Any) -> bool:
    """Tell whether the fonts of a page do not tell the letters of most characters, so that others stand for them."""
    n = layer.count_chars()
    places = [place for place in range(0, n, n // _SAMPLE + 1) if pdfium.FPDFText_GetUnicode(layer, place) > ord(" ")]
    n_lacking = sum(int(pdfium.FPDFText_HasUnicodeMapError(layer, place) == 1) for place in places)
    return 2 * n_lacking > len(places)


def text_of(layer: Any) -> str:
    """Return the text of a page."""
    text: str = layer.get_text_range()
    lacks_none = layer.count_chars() == len(text)
    place_of: _Place = int if lacks_none else partial(pdfium.FPDFText_GetCharIndexFromTextIndex, layer)
    text = _marked(layer, text, place_of)
    rare = [kind for kind in (_FROM_RIGHT, _NOTED) if kind.search(text)]
    doubtful = re.compile("|".join(kind.pattern for kind in (*rare, _DOUBTFUL)))  # `re` keeps so few patterns
    return doubtful.sub(lambda found: _repaired(layer, found, place_of), text).replace(_LEFT_OUT, "")


def _marked(layer: Any, text: str, place_of: _Place) -> str:
    """Return the text of a page with marks in place of the blanks within words, whose letters are set apart."""
    lines = [(found.start(), found[0]) for found in re.finditer("[^\r\n]+", text)]
    doubtful = [(start, line) for start, line in lines if _has_short_words(line)]
    apart = [gap for start, line in doubtful for gap in _letter_gaps(layer, line, start, place_of)]
    within_words = partial(_within_words, layer, place_of=place_of, usual=median(apart) if apart else 0.0)
    if not any(within_words(line, start) for start, line in doubtful):
        return text
    marked = {place for start, line in lines for place in within_words(line, start)}
    n_letters = sum(_SINGLE.match(text, max(0, place - 2)) is not None for place in marked)
    if n_letters < _SINGLE_SHARE * len(marked):  # else these are cells of a table, whose letters are set apart
        return text
    return "".join(_LEFT_OUT if place in marked else letter for place, letter in enumerate(text))


def _letter_gaps(layer: Any, line: str, start: int, place_of: _Place) -> list[float]:
    """Return gaps between letters of a line that stand side by side, without a blank: near 0 in most fonts."""
    places = [place_of(start + found.start()) for found in islice(_PAIR.finditer(line), _PAIRS)]
    return [_gap_behind(layer, place, place + 1) for place in places]


def _has_short_words(line: str) -> bool:
    words = line.split()
    return sum(len(word) <= _SHORT for word in words) > max(2, _SHORT_SHARE * len(words))


def _within_words(layer: Any, line: str, start: int, *, place_of: _Place, usual: float) -> list[int]:
    """Return the offsets of the blanks of a line that are about as wide as the gaps between its letters.

    PDFium has made all blanks of such a line, and the gaps between words are far wider, and alike. `usual`: the gap
    between letters of the page, for a line with few letters side by side.
    """
    blanks = [start + found.start() for found in re.finditer(r"(?<=\S) (?=\S)", line)]
    places = [place_of(blank) for blank in blanks]
    if not blanks or not all(pdfium.FPDFText_IsGenerated(layer, place) == 1 for place in places):
        return []
    letter_gaps = _letter_gaps(layer, line, start, place_of)
    apart = median(letter_gaps) if len(letter_gaps) >= _FEWEST_PAIRS else usual
    gaps = [_gap(layer, place) for place in places]
    within, between = [gap for gap in gaps if gap < _ALIKE * apart], [gap for gap in gaps if gap >= _ALIKE * apart]
    if not within or len(between) < 2 or min(between) < _WIDER * max(within) or max(between) > 2 * min(between):
        return []
    small = [blank for blank, gap in zip(blanks, gaps, strict=True) if gap < _ALIKE * apart]
    return [blank for blank in small if _is_beside_letters_apart(layer, line, blank - start, start, place_of)]


def _is_beside_letters_apart(layer: Any, line: str, blank: int, start: int, place_of: _Place) -> bool:
    """Tell whether the words on both sides of a blank have their letters apart, too, and no digits at the blank."""
    if line[blank - 1].isdigit() or line[blank + 1].isdigit():
        return False
    begins, ends = line.rfind(" ", 0, blank) + 1, line.find(" ", blank + 1)
    words = [(begins, line[begins:blank]), (blank + 1, line[blank + 1 : ends if ends > 0 else None])]
    gap = _gap(layer, place_of(start + blank))
    spacings = [_letter_gaps(layer, word, start + at, place_of) for at, word in words]
    return all(gap < _ALIKE * median(spacing) for spacing in spacings if spacing)


def _repaired(layer: Any, found: re.Match[str], place_of: _Place) -> str:
    repairs = {" ": _blank, "\xad": _soft_hyphen, "\r": _line_end}
    repair = _noted if found.lastgroup == "mark" else repairs.get(found[0][0], _from_right)
    return repair(layer, found, place_of)


def _blank(layer: Any, found: re.Match[str], place_of: _Place) -> str:
    """Leave out a blank that PDFium has made within a justified line: it is smaller than a blank of the line itself.

    The gap before a hyphen that is a cell of its own is larger.
    """
    text, at = found.string, found.start()
    own = text.rfind(" ", text.rfind("\n", 0, at) + 1, at)
    next_word = text[found.end() + 1 : found.end() + 4].lstrip("\r\n")
    if own < 0 or not text[at - 1].isalnum() or next_word[:1].isupper():
        return " "
    made, own_made = (pdfium.FPDFText_IsGenerated(layer, place_of(place)) for place in (at, own))
    if made != 1 or own_made != 0:  # TeX writes no blanks, so PDFium makes all
        return " "
    return "" if _gap(layer, place_of(at)) < _gap(layer, place_of(own)) else " "


def _gap(layer: Any, place: int) -> float:
    """Return the width of the blank at a place."""
    return _gap_behind(layer, place - 1, place + 1)


def _gap_behind(layer: Any, place: int, following: int) -> float:
    """Return the width between a character and the one that follows."""
    start, _ = origin(layer, following)
    _, _, end, _ = layer.get_charbox(place, loose=True)
    return float(start - end)


def _soft_hyphen(layer: Any, found: re.Match[str], place_of: _Place) -> str:
    place = place_of(found.start())
    behind_letter = found.start() > 0 and found.string[found.start() - 1].isalnum()
    if not behind_letter or not _is_at(layer, place, "\xad"):
        return "\xad"
    boxes = (layer.get_charbox(place - 1), layer.get_charbox(place))
    before, own = ((right - left) * (top - bottom) for left, bottom, right, top in boxes)
    return "\xad" if own < _BAR * before else ""


def _noted(layer: Any, found: re.Match[str], place_of: _Place) -> str:
    letter, mark = place_of(found.start() + 3), place_of(found.start("mark"))
    if not _is_at(layer, letter, found[0][3]) or not _is_at(layer, mark, found["mark"][0]):
        return found[0]
    heights = [top - bottom for _, bottom, _, top in (layer.get_charbox(place, loose=True) for place in (letter, mark))]
    raised = origin(layer, mark)[1] - origin(layer, letter)[1]
    is_mark = raised > _RAISED * heights[0] and heights[1] < _SMALL * heights[0]
    return f"{found['noted']} {found['mark']}" if is_mark else found[0]


def _from_right(layer: Any, found: re.Match[str], place_of: _Place) -> str:
    word, place = found[0], place_of(found.start())
    is_there = len(word) > 1 and _is_at(layer, place, word[0]) and _is_at(layer, place + len(word) - 1, word[-1])
    return ordered(layer, word, place) if is_there else word


def _line_end(layer: Any, found: re.Match[str], place_of: _Place) -> str:
    place = place_of(found.start())
    (_, level_before), (start, level) = origin(layer, place - 1), origin(layer, place + 2)
    if abs(level - level_before) > SAME_LEVEL or not _is_at(layer, place, "\r"):
        return "\r\n"
    _, bottom, right, top = layer.get_charbox(place - 1, loose=True)  # sizes of fonts are not those on the page
    gap = (start - right) / (top - bottom or 1)
    if abs(gap) < _ADJACENT:
        return ""
    return " " if 0 < gap < _BLANK else "\r\n"


def _is_at(layer: Any, place: int, character: str) -> bool:
    return bool(pdfium.FPDFText_GetUnicode(layer, place) == ord(character))
