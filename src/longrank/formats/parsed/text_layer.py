"""Text layer of a PDF page, repaired where the places of its characters show that PDFium has misread it.

- A blank before a hyphen at a line end is left out if PDFium has made it of a small gap: justified lines set hyphens
  apart.
- Some fonts name their hyphen a soft one: its glyph is a bar, less than half as large as the letter before. Soft
  hyphens that the page does not show have the box of that letter, and are left out.
- A line end is left out if the next character follows on the same baseline; behind a small gap, it is a blank. PDFium
  ends a line before objects of one glyph, such as ligatures, on pages of short lines.
- Blanks within words whose letters are set apart are left out (`letters_apart`).
- A blank is put before the number of a footnote, which is raised and small: "Harbours1" was one word. Numbers behind
  fewer than four letters are powers (m2).
- Words of letters that are read from the right are put in order (`right_to_left`).
- Pages on which most text runs sideways are turned upright: PDFium gives lines that run down the page in reverse order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from math import degrees
from typing import Any

import pypdfium2.raw as pdfium

from longrank.formats.note_marks import WORD_END
from longrank.formats.parsed.letters_apart import LEFT_OUT, Place, marked, width_of_blank
from longrank.formats.parsed.right_to_left import LETTERS, SAME_LEVEL, ordered, origin

_BAR = 0.5  # the area of a hyphen, of the letter before it; that of Helvetica has 0.3 of a narrow l
_ADJACENT, _BLANK = 0.05, 0.5  # of the height of a line: gaps in a word, and between words
_DOUBTFUL = re.compile(" (?=[-\u2010\u2011](?:\r\n|\\Z))|\xad|\r\n")  # branches that begin with a letter are fast
_FROM_RIGHT = re.compile(f"[{LETTERS}]+(?:\r\n[{LETTERS}]+)*")
_NOTED = re.compile(rf"(?P<noted>{WORD_END})(?P<mark>\d{{1,3}})(?!\w)")
_RAISED, _SMALL = 0.1, 0.9  # of the height of the letter before

_SAMPLE = 64  # characters of a page


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
    place_of: Place = int if lacks_none else partial(pdfium.FPDFText_GetCharIndexFromTextIndex, layer)
    text = marked(layer, text, place_of)
    rare = [kind for kind in (_FROM_RIGHT, _NOTED) if kind.search(text)]
    doubtful = re.compile("|".join(kind.pattern for kind in (*rare, _DOUBTFUL)))  # `re` keeps so few patterns
    return doubtful.sub(lambda found: _repaired(layer, found, place_of), text).replace(LEFT_OUT, "")


def _repaired(layer: Any, found: re.Match[str], place_of: Place) -> str:
    repairs = {" ": _blank, "\xad": _soft_hyphen, "\r": _line_end}
    repair = _noted if found.lastgroup == "mark" else repairs.get(found[0][0], _from_right)
    return repair(layer, found, place_of)


def _blank(layer: Any, found: re.Match[str], place_of: Place) -> str:
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
    return "" if width_of_blank(layer, place_of(at)) < width_of_blank(layer, place_of(own)) else " "


def _soft_hyphen(layer: Any, found: re.Match[str], place_of: Place) -> str:
    place = place_of(found.start())
    behind_letter = found.start() > 0 and found.string[found.start() - 1].isalnum()
    if not behind_letter or not _is_at(layer, place, "\xad"):
        return "\xad"
    boxes = (layer.get_charbox(place - 1), layer.get_charbox(place))
    before, own = ((right - left) * (top - bottom) for left, bottom, right, top in boxes)
    return "\xad" if own < _BAR * before else ""


def _noted(layer: Any, found: re.Match[str], place_of: Place) -> str:
    letter, mark = place_of(found.start() + 3), place_of(found.start("mark"))
    if not _is_at(layer, letter, found[0][3]) or not _is_at(layer, mark, found["mark"][0]):
        return found[0]
    heights = [top - bottom for _, bottom, _, top in (layer.get_charbox(place, loose=True) for place in (letter, mark))]
    raised = origin(layer, mark)[1] - origin(layer, letter)[1]
    is_mark = raised > _RAISED * heights[0] and heights[1] < _SMALL * heights[0]
    return f"{found['noted']} {found['mark']}" if is_mark else found[0]


def _from_right(layer: Any, found: re.Match[str], place_of: Place) -> str:
    word, place = found[0], place_of(found.start())
    is_there = len(word) > 1 and _is_at(layer, place, word[0]) and _is_at(layer, place + len(word) - 1, word[-1])
    return ordered(layer, word, place) if is_there else word


def _line_end(layer: Any, found: re.Match[str], place_of: Place) -> str:
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
