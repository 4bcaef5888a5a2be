"""Passages to show: the best places of a document, none next to another.

Passages are taken in order of merit until there are `n` places. A passage that overlaps or touches a place joins it
while the joined place is at most twice as long as its best passage; else the passage is left out. So windows of one
paragraph become one place, and no character is shown twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from longrank.types import Span

_LONGEST = 2  # times the length of the best passage
_BLANKS = re.compile(r"\s*")


class Place(NamedTuple):
    """A part of a document.

    Attributes:
        start: first code point in the document's text.
        end: one past the last.
        rank: rank of its best passage among the passages, from 0.
        length: length of that passage.
    """

    start: int
    end: int
    rank: int
    length: int


def best_places(text: str, passages: Sequence[Span], n: int) -> list[Place]:
    """Return at most `n` places, best first; more than white space lies between any two.

    Args:
        text: the document's text.
        passages: offsets of the scored passages, best first.
        n: maximum number of places.
    """
    places: list[Place] = []
    for rank, (start, end) in enumerate(passages):
        if len(places) == n:
            break
        near = [number for number, place in enumerate(places) if _touch(text, place, start, end)]
        if not near:
            places.append(Place(start, end, rank, end - start))
        elif len(near) == 1:  # a passage between two places would join both
            places[near[0]] = _joined(places[near[0]], start, end)
    return places


def _touch(text: str, place: Place, start: int, end: int) -> bool:
    """Tell whether at most white space lies between a place and a passage."""
    (_, first_end), (second_start, _) = sorted([(place.start, place.end), (start, end)])
    blank = _BLANKS.match(text, first_end)
    return blank is not None and blank.end() >= second_start


def _joined(place: Place, start: int, end: int) -> Place:
    start, end = min(place.start, start), max(place.end, end)
    return place._replace(start=start, end=end) if end - start <= _LONGEST * place.length else place
