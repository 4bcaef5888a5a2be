"""The rule by which small segments are merged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

FANOUT = 8  # segments of a size that are merged
_FLOOR = 1000  # documents; smaller segments count as segments of this size
_MOST_DEAD = 0.5  # largest share of deleted documents in a segment of more than `_FLOOR` documents


class Size(NamedTuple):
    """Living and all documents of a segment; true for a shard, a part of an index that was built in parts."""

    living: int
    all: int
    is_shard: bool = False


def next_merge(sizes: Sequence[Size]) -> tuple[int, int] | None:
    """Return the segments ``[first:last]`` to merge next; None: nothing is to merge.

    Segments of at most 1000 documents have level 0, of at most 8000 level 1, and so on by powers of 8. A segment before
    one of a higher level counts as one of that level, so levels never rise from the first segment to the last. Eight
    segments of a level are merged. A segment is rewritten if more than half of its documents are deleted. So n
    documents lie in at most about 7 * log8(n / 1000) + 7 segments, and a document is rewritten about log8(n / 1000)
    times: a large segment stays as it is while small ones come. Neighbours only are merged, which keeps the order of
    documents. Shards come first and are never merged with other segments, nor the segments before a shard.
    """
    first = last = len(sizes)
    level = 0
    while first and not sizes[first - 1].is_shard:
        if (own := _level(sizes[first - 1])) > level:
            level, last = own, first
        first -= 1
        if last - first >= FANOUT:
            return first, last
    for i, size in enumerate(sizes):
        if size.all > _FLOOR and size.living < size.all * (1 - _MOST_DEAD):
            return i, i + 1
    return None


def _level(size: Size) -> int:
    level, limit = 0, _FLOOR
    while size.living > limit:
        level, limit = level + 1, limit * FANOUT
    return level
