"""Repair the lines of pages: leave out running headers and footers, and join words that a line end hyphenates.

- A line is a running header or footer if the same line is at the same edge of at least two of the four pages before
  and the four pages after. Case does not count, and a page number does not: a number from 1 to the number of pages
  that grows by one from page to page. A number that begins with 0 or is joined to another number by ``-``, ``.`` or
  ``/`` is none, except before the number of pages (``7/12``). At most two lines of each edge are left out, from the
  edge inwards, and never all lines of a page. The first of equal lines stays, so every word of the file but page
  numbers is in the text.
- The line end behind a hyphen is left out, except before *and* or *or* (``pre-`` and ``post-war``). The hyphen is left
  out, too, between two lower-case letters, except behind a single letter and in a compound that has a hyphen before
  (``e-mail``, ``mother-in-law``). A word of letters that the document has elsewhere, in one of the two spellings alone,
  gets that spelling.
- A word that is hyphenated at the end of a page is joined if the next page begins with a lower-case letter. It belongs
  to the page where it begins. Lines at the edges of the two pages interrupt no word: a header or footer that stays, a
  line that one near page has at the same edge, and a bare number, also in Roman numerals. Nor do footnotes whose
  number is glued to a capitalized word (``1See``); other footnotes interrupt no word that the document has elsewhere.
- Pages may stand twice in a file. So a line that ends inside a word belongs to the text, and a line that begins with a
  lower-case letter behind a hyphenated word does, too, if all near pages that have it have it behind the same line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import NamedTuple

_NEAR = 4  # pages before and after
_OTHERS = 2  # of these pages have the line, too
_EDGE_LINES = 2
_LONGEST = 200  # characters of a header
_FEWEST_SPACED, _SPACED_SHARE = 6, 0.8  # words of a line whose letters stand apart, and single letters among them
_NUMBER = re.compile(r"(?<![^\W_])(?<!\d[-./])(?!0)(\d+)(?:/(\d+))?(?![^\W_]|[-./]\d)")  # 7, 7/12; not 2024-7, 007
_BARE = re.compile(  # 12, 3-12, 7/26, - 12 -, xiv
    r"[-–—\[(|\s]*(?:\d+(?:[-–./]\d+)?|(?=[ivxl])(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3}))[-–—\])|\s]*", re.IGNORECASE
)
_WORD = re.compile(r"[^\W_]+")
_HYPHENS = ("-", "\u2010", "\u2011")
_COMPOUND = re.compile("(?<![^\\W_])([^\\W_]+)[-\u2010\u2011](?=([^\\W_]+))")
_LINE_END = re.compile(r"(?<![^\W_])([^\W_]+)-\n(?=([^\W_]+))")
_PAGE_END = re.compile(r"(?<![^\W_])([^\W_]+)-\Z")
_FOOTNOTE = re.compile(  # 1 See, 1. See, 1See
    r"(?<![^\W_])([^\W_]{2,})-\n(?=\d{1,3}(?P<apart>\.?\s)?(?P<first>[^\W\d_])(?P<second>[^\W_]?))"
)
_PAGE_START = re.compile(r"([^\W_]+)\S*")
SUSPENDING = ("and", "or", "und", "oder")  # pre- and post-war, Ein- und Ausgang

_Keys = dict[str, None]  # in their order; a line has them in common with equal lines
_KeysOf = Callable[[str, int], _Keys]


class _Cut(NamedTuple):
    """A line cut from the top (edge 0) or from the bottom (edge -1) of a page."""

    page: int
    edge: int
    key: str
    line: str


def repaired(pages: Sequence[str]) -> tuple[list[str], int, int]:
    """Leave out running headers and footers, and join the words that a line end or a page end hyphenates.

    Returns:
        The pages, the number of lines left out, and the number of pages whose whole text is repeated.
    """
    keys_of = cache(partial(_keys, n_pages=len(pages)))
    wholes = [_keys(page, number, len(pages)) for number, page in enumerate(pages)]
    n_stamps = sum(bool(_repeated(wholes, number, _OTHERS)) for number in range(len(pages)))
    lines = [page.split("\n") if page else [] for page in pages]
    running = _cut(lines, keys_of, _OTHERS)
    first: dict[str, _Cut] = {}
    for cut in sorted(running, key=lambda cut: cut.page):
        first.setdefault(cut.key, cut)
    heads: list[list[str]] = [[] for _ in pages]
    feet: list[list[str]] = [[] for _ in pages]
    for cut in (*first.values(), *_cut(lines, keys_of, 1, beside=True)):
        if cut.edge == 0:
            heads[cut.page].append(cut.line)
        else:
            feet[cut.page].insert(0, cut.line)
    parts = [["\n".join(part).strip() for part in page] for page in zip(heads, lines, feet, strict=True)]
    _join_words(parts)
    return ["\n".join(filter(None, page)) for page in parts], len(running) - len(first), n_stamps


def is_spaced_out(line: str) -> bool:
    """Tell whether a line has blanks between the letters of its words: ``R E P O R T``."""
    words = line.split()
    n_letters = sum(len(word) == 1 and word.lower() != word.upper() for word in words)
    return len(words) >= _FEWEST_SPACED and n_letters >= _SPACED_SHARE * len(words)


def _cut(lines: Sequence[list[str]], keys_of: _KeysOf, n_others: int, *, beside: bool = False) -> list[_Cut]:
    """Cut lines that `n_others` near pages have at the same edge, from the edges inwards; no part of a broken word.

    `beside`: bare numbers are cut, too.
    """
    cuts = []
    for edge in (-1, 0):  # bottoms first: a line at the top may go on a word of the page before
        chosen = list(range(len(lines)))  # pages whose outer lines have all been cut
        for _ in range(_EDGE_LINES):
            keys = [keys_of(page[edge], number) if page else {} for number, page in enumerate(lines)]
            found = {}
            for number in (number for number in chosen if len(lines[number]) > 1):
                if beside and _is_number_beside(lines[number], edge):
                    found[number] = lines[number][edge]
                elif (key := _repeated(keys, number, n_others)) and not _is_broken(lines, keys, number, edge, key):
                    found[number] = key
            chosen = list(found)
            cuts += [_Cut(number, edge, key, lines[number].pop(edge)) for number, key in found.items()]
    return cuts


def _is_number_beside(page: Sequence[str], edge: int) -> bool:
    """Tell whether a line is a number alone. Behind ``COVID-`` or ``10-`` it completes a word."""
    completes = edge == -1 and page[-2].endswith("-") and not page[-2][-2:-1].islower()
    return bool(_BARE.fullmatch(page[edge])) and not completes


def _is_broken(lines: Sequence[list[str]], keys: Sequence[_Keys], number: int, edge: int, key: str) -> bool:
    """Tell whether a line ends inside a word, or goes on the same word on all near pages: it is text."""
    line, before = lines[number][edge], _line_before(lines, number, edge)
    if _BARE.fullmatch(line):
        return False
    if line[-1] == "-" and line[-2:-1].isalpha():
        return True
    near = (other for other in _near(number, len(lines)) if key in keys[other])
    goes_on = line[0].islower() and bool(_page_end(before))
    return goes_on and all(_line_before(lines, other, edge) == before for other in near)


def _line_before(lines: Sequence[list[str]], number: int, edge: int) -> str:
    """Return the line before the last line of a page, or before its first line: the last of the page before."""
    page = lines[number][:-1] if edge == -1 else lines[number - 1] if number else []
    return page[-1] if page else ""


def _keys(line: str, page: int, n_pages: int) -> _Keys:
    """Return the line, and the line with each number that may be a page number as a distance from `page`."""
    line = " ".join(line.lower().split())
    if not line or len(line) > _LONGEST:
        return {}
    found = [number for number in _NUMBER.finditer(line) if number[2] in (None, str(n_pages))]
    numbers = [number for number in found if int(number[1]) <= n_pages]
    return dict.fromkeys([line, *(f"{line[: n.start()]}\0{int(n[1]) - page}\0{line[n.end(1) :]}" for n in numbers)])


def _near(number: int, n_pages: int) -> list[int]:
    return [other for other in range(number - _NEAR, number + _NEAR + 1) if 0 <= other < n_pages and other != number]


def _repeated(keys: Sequence[_Keys], number: int, n_others: int) -> str:
    """Return the key of a page that `n_others` pages near it have, too; empty: they have none."""
    near = [keys[other] for other in _near(number, len(keys)) if keys[other]]
    return next((key for key in keys[number] if sum(key in others for others in near) >= n_others), "")


def _join_words(pages: Sequence[list[str]]) -> None:
    """Join the words that a line end hyphenates within each part of a page (head, body, foot), or that a body ends."""
    known: set[str] = set()
    for part in (part for page in pages for part in page):
        whole = _LINE_END.sub(" ", part).lower()
        known.update(_WORD.findall(whole))
        known.update(f"{before}-{after}" for before, after in _COMPOUND.findall(whole))
    for page, following in zip(pages, [*pages[1:], ["", "", ""]], strict=True):
        page[1:] = _parted(page[1], page[2], following[1], known)
    for page in pages:
        page[:] = [_LINE_END.sub(lambda end: _first_half(end, end[2], known) or end[0], part) for part in page]
    for page, following in pairwise(pages):
        page[1], following[1] = _joined_over_page_end(page[1], following[1], known)


def _parted(body: str, foot: str, following: str, known: set[str]) -> tuple[str, str]:
    """Move footnotes that interrupt a word to the foot, or a foot that completes a known word to the body."""
    end, rest, start = _page_end(body), _PAGE_START.match(foot), _PAGE_START.match(following)
    second = start[1].lower() if start and start[1][0].islower() else ""
    over_page = end and second and end[1].lower() + second in known
    if end and rest and not over_page and (end[1] + rest[1]).lower() in known:
        return f"{body}\n{foot}", ""
    for note in _FOOTNOTE.finditer(body) if second else ():
        is_glued = not note["apart"] and note["second"].islower() and note[1][-1].islower()
        if note["first"].isupper() and (is_glued or note[1].lower() + second in known):
            return body[: note.end() - 1], f"{body[note.end() :]}\n{foot}".strip()
    return body, foot


def _page_end(text: str) -> re.Match[str] | None:
    return _PAGE_END.search(text) if text.endswith("-") else None  # a search reads the whole text


def _first_half(end: re.Match[str], after: str, known: set[str]) -> str:
    """Return the first half of a word as it stands before the second half; empty: they are no word."""
    before = end[1]
    whole, hyphenated = (before + after).lower(), f"{before}-{after}".lower()
    if after in SUSPENDING and whole not in known:
        return ""
    if before[-1].isdigit() or after[0].isdigit():
        return f"{before}-"
    if (whole in known) != (hyphenated in known):
        return before if whole in known else f"{before}-"
    in_compound = end.string[max(0, end.start() - 1)] in _HYPHENS
    split = before[-1].islower() and after[0].islower() and len(before) > 1 and not in_compound
    return before if split else f"{before}-"


def _joined_over_page_end(page: str, following: str, known: set[str]) -> tuple[str, str]:
    """Move the second half of a word from the beginning of a page to the page before."""
    end, start = _page_end(page), _PAGE_START.match(following)
    half = _first_half(end, start[1], known) if end and start and start[1][0].islower() else ""
    if not (end and start and half):
        return page, following
    return page[: end.start()] + half + start[0], following[start.end() :].lstrip()
