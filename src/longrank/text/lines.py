"""Line ends that bound sentences, and line ends of hard-wrapped prose, which do not.

A line end bounds sentences unless all of these hold (lengths in code points, without blanks at the line's end):

- the next line is not blank, and does not begin with a list mark (``-``, ``*``, ``•``, ``1.``, ``(a)``, ...);
- the line has at most 120 code points;
- the first word of the next line would not have fit: line, blank and word are longer than the usual length, which is
  the median length of the text's lines, each weighted by its length, and at least 40.

So text that was filled to lines of 40 to 120 code points is joined, and headings, list items, the turns of a
transcript, and paragraphs of one line each are not. Lines are those of `str.splitlines`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest

from longrank.types import Span

RULE = "lines-1"
"""Name and version of the rule, for fingerprints."""

_NARROWEST, _WIDEST = 40, 120  # code points of a full line of hard-wrapped prose
_LIST_MARK = re.compile(r"\s*(?:[-*•‣◦▪·]|\(?\d{1,2}[.)]|\(?[A-Za-z]\))\s")


def blocks(text: str) -> Iterator[Span]:
    """Yield the stretches of a text between line ends that bound sentences; together they are the text."""
    lines = text.splitlines(keepends=True)
    full = max(_NARROWEST, _usual_length(lines))
    start = end = 0
    for line, following in zip_longest(lines, lines[1:], fillvalue=""):
        end += len(line)
        if not _is_wrapped(len(line.rstrip()), following, full):
            yield start, end
            start = end


def _is_wrapped(length: int, following: str, full: int) -> bool:
    """Return true if a line of `length` code points goes on in the line `following`."""
    if length > _WIDEST or _LIST_MARK.match(following):
        return False
    words = following.split(maxsplit=1)
    return bool(words) and length + 1 + len(words[0]) > full


def _usual_length(lines: list[str]) -> int:
    """Return the median length of the lines, each weighted by its length; 0 if all are blank."""
    lengths = sorted(len(line.rstrip()) for line in lines)
    left = sum(lengths) / 2
    for length in lengths:
        left -= length
        if left <= 0:
            return length
    return 0
