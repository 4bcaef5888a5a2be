"""The rule by which small segments are merged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

FANOUT = 8  # segments of a size that are merged
_FLOOR = 1000  # documents; smaller segments count as segments of this size
_MOST_DEAD = 0.5  # largest share of deleted documents in a segment of more than `_FLOOR` documents


class Size(NamedTuple):
    """Living and all documents of a segment."""

    living: int
    all: int


def next_merge(sizes: Sequence[Size]) -> tuple[int, int] | None:
    """Return the segments ``[first:last]`` to merge next; None: nothing is to merge.

    The last segments are merged if 8 of them have at most 1000 documents, else if 8 of them have at most 8000
    documents, and so on by powers of 8. A segment is rewritten if more than half of its documents are deleted. So n
    documents lie in at most about 7 * log8(n / 1000) + 7 segments, and a document is rewritten about log8(n / 1000)
    times. Neighbours only are merged, which keeps the order of documents.
    """
    limit, largest = _FLOOR, max((size.living for size in sizes), default=0)
    while True:
        first = len(sizes)
        while first and sizes[first - 1].living <= limit:
            first -= 1
        if len(sizes) - first >= FANOUT:
            return first, len(sizes)
        if limit >= largest:
            break
        limit *= FANOUT
    for i, size in enumerate(sizes):
        if size.all > _FLOOR and size.living < size.all * (1 - _MOST_DEAD):
            return i, i + 1
    return None
