"""Repair the lines of pages: leave out running headers and footers, and join words that a line end hyphenates.

- A line is a running header or footer if the same line is at the same edge of at least two of the four pages before
  and the four pages after. Case and a number at the beginning or the end of the line do not count. At most two lines
  of each edge are left out, from the edge inwards, and never all lines of a page.
- A hyphen between a letter and a line that begins with a lower-case letter is left out with the line end. The hyphen
  stays if the word occurs with it inside a line of the document, and never without it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_NEAR = 4  # pages before and after
_OTHERS = 2  # of these pages have the line, too
_EDGE_LINES = 2
_LONGEST = 200  # characters of a header
_NUMBER = re.compile(r"^\W*\d+\b|\b(?:\d+|[ivxlc]+)(?:\s*(?:of|von|de|/)\s*\d+)?\W*$", re.IGNORECASE)
_HYPHENATED = re.compile(r"([^\W\d_]+)-\n([^\W\d_]+)")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


def without_running_lines(pages: Sequence[str]) -> tuple[list[str], int]:
    """Return the pages without running headers and footers, and the number of lines left out."""
    lines = [page.split("\n") if page else [] for page in pages]
    whole = [len(page) for page in lines]
    for edge in (0, -1):
        chosen = list(range(len(lines)))  # pages whose outer lines have all been left out
        for _ in range(_EDGE_LINES):
            keys = [_key(page[edge]) if page else "" for page in lines]
            chosen = [n for n in chosen if keys[n] and len(lines[n]) > 1 and _is_repeated(keys, n)]
            for number in chosen:
                lines[number].pop(edge)
    return ["\n".join(page).strip() for page in lines], sum(whole) - sum(map(len, lines))


def _key(line: str) -> str:
    key = " ".join(_NUMBER.sub("#", line).lower().split())
    return key if len(key) <= _LONGEST else ""


def _is_repeated(keys: Sequence[str], number: int) -> bool:
    near = [*keys[max(0, number - _NEAR) : number], *keys[number + 1 : number + 1 + _NEAR]]
    return near.count(keys[number]) >= _OTHERS


def without_hyphens(pages: Sequence[str]) -> list[str]:
    """Return the pages with the words joined that a line end hyphenates."""
    words = {word.lower() for page in pages for word in _WORD.findall(_HYPHENATED.sub(" ", page))}

    def joined(parts: re.Match[str]) -> str:
        before, after = parts[1], parts[2]
        if not after[0].islower():
            return parts[0]
        whole, hyphenated = (before + after).lower(), f"{before}-{after}".lower()
        return f"{before}-{after}" if hyphenated in words and whole not in words else before + after

    return [_HYPHENATED.sub(joined, page) for page in pages]
