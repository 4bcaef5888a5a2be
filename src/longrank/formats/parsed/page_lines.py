"""Repair the lines of pages: leave out running headers and footers, and join words that a line end hyphenates.

- A line is a running header or footer if the same line is at the same edge of at least two of the four pages before
  and the four pages after. Case does not count, and a page number does not: a number from 1 to the number of pages
  that grows by one from page to page. At most two lines of each edge are left out, from the edge inwards, and never
  all lines of a page. The first of equal lines stays, so every word of the file but page numbers is in the text.
- The line end behind a hyphen is left out, except before *and* or *or* (``pre-`` and ``post-war``). The hyphen is left
  out, too, between two lower-case letters, except behind a single letter and in a compound that has a hyphen before
  (``e-mail``, ``mother-in-law``). A word of letters that the document has elsewhere, in one of the two spellings alone,
  gets that spelling.
- A word that is hyphenated at the end of a page is joined if the next page begins with a lower-case letter. It belongs
  to the page where it begins.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_NEAR = 4  # pages before and after
_OTHERS = 2  # of these pages have the line, too
_EDGE_LINES = 2
_LONGEST = 200  # characters of a header
_NUMBER = re.compile(r"(?<![^\W_])\d+(?![^\W_])")
_WORD = re.compile(r"[^\W_]+")
_COMPOUND = re.compile(r"(?<![^\W_])([^\W_]+)-(?=([^\W_]+))")
_LINE_END = re.compile(r"(?<![^\W_])([^\W_]+)-\n(?=([^\W_]+))")
_PAGE_END = re.compile(r"(?<![^\W_])([^\W_]+)-\Z")
_PAGE_START = re.compile(r"([^\W_]+)\S*")
_SUSPENDING = ("and", "or", "und", "oder")  # pre- and post-war, Ein- und Ausgang


def without_running_lines(pages: Sequence[str]) -> tuple[list[str], int, int]:
    """Leave out running headers and footers.

    Returns:
        The pages, the number of lines left out, and the number of pages whose whole text is repeated so.
    """
    lines = [page.split("\n") if page else [] for page in pages]
    removed = []
    for edge in (0, -1):
        chosen = list(range(len(lines)))  # pages whose outer lines have all been left out
        for _ in range(_EDGE_LINES):
            keys = _edge_keys(lines, edge)
            found = {number: _repeated(keys, number) for number in chosen if len(lines[number]) > 1}
            chosen = [number for number, key in found.items() if key]
            removed += [(number, edge, found[number], lines[number].pop(edge)) for number in chosen]
    wholes = [_keys(page, number, len(pages)) for number, page in enumerate(pages)]
    n_stamps = sum(bool(_repeated(wholes, number)) for number in range(len(pages)))
    n_kept = _put_back_first(removed, lines)
    return ["\n".join(page).strip() for page in lines], len(removed) - n_kept, n_stamps


def _edge_keys(lines: Sequence[Sequence[str]], edge: int) -> list[list[str]]:
    return [_keys(page[edge], number, len(lines)) if page else [] for number, page in enumerate(lines)]


def _keys(line: str, page: int, n_pages: int) -> list[str]:
    """Return the line, and the line with each number that may be a page number as a distance from `page`."""
    line = " ".join(line.lower().split())
    if not line or len(line) > _LONGEST:
        return []
    numbers = [number for number in _NUMBER.finditer(line) if 0 < int(number[0]) <= n_pages]
    return [line, *(f"{line[: n.start()]}\0{int(n[0]) - page}\0{line[n.end() :]}" for n in numbers)]


def _repeated(keys: Sequence[Sequence[str]], number: int) -> str:
    """Return the key of a page that pages near it have, too; empty: they have none."""
    near = [*keys[max(0, number - _NEAR) : number], *keys[number + 1 : number + 1 + _NEAR]]
    return next((key for key in keys[number] if sum(key in others for others in near) >= _OTHERS), "")


def _put_back_first(removed: Sequence[tuple[int, int, str, str]], lines: Sequence[list[str]]) -> int:
    """Put the first of equal lines back to its edge, the inner lines first; return the number of these lines."""
    first: dict[str, tuple[int, int, str]] = {}
    for number, edge, key, line in sorted(removed, key=lambda row: row[0]):
        first.setdefault(key, (number, edge, line))
    for number, edge, line in reversed(first.values()):
        lines[number].insert(0 if edge == 0 else len(lines[number]), line)
    return len(first)


def without_hyphens(pages: Sequence[str]) -> list[str]:
    """Return the pages with the words joined that a line end or a page end hyphenates."""
    known: set[str] = set()
    for page in pages:
        whole = _LINE_END.sub(" ", page).lower()
        known.update(_WORD.findall(whole))
        known.update(f"{before}-{after}" for before, after in _COMPOUND.findall(whole))
    joined = [_LINE_END.sub(lambda end: _first_half(end, end[2], known) or end[0], page) for page in pages]
    for number in range(1, len(joined)):
        _join_over_page_end(joined, number, known)
    return joined


def _first_half(end: re.Match[str], after: str, known: set[str]) -> str:
    """Return the first half of a word as it stands before the second half; empty: they are no word."""
    before = end[1]
    whole, hyphenated = (before + after).lower(), f"{before}-{after}".lower()
    if after in _SUSPENDING and whole not in known:
        return ""
    if before[-1].isdigit() or after[0].isdigit():
        return f"{before}-"
    if (whole in known) != (hyphenated in known):
        return before if whole in known else f"{before}-"
    in_compound = end.string[max(0, end.start() - 1)] == "-"
    split = before[-1].islower() and after[0].islower() and len(before) > 1 and not in_compound
    return before if split else f"{before}-"


def _join_over_page_end(pages: list[str], number: int, known: set[str]) -> None:
    """Move the second half of a word from the beginning of a page to the page before."""
    if not pages[number - 1].endswith("-"):
        return
    end, start = _PAGE_END.search(pages[number - 1]), _PAGE_START.match(pages[number])
    if not end or not start or not start[1][0].islower():
        return
    if half := _first_half(end, start[1], known):
        pages[number - 1] = pages[number - 1][: end.start()] + half + start[0]
        pages[number] = pages[number][start.end() :].lstrip()
