"""Pages and headings of a document, as its metadata keep them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

SOURCE, PAGE_STARTS, HEADINGS = "source", "page_starts", "headings"
"""Names of fields: path of the file; offsets at which pages begin; [start, end, level] of each heading."""


def headings_of(metadata: Mapping[str, Any]) -> tuple[tuple[int, int, int], ...]:
    """Return the (start, end, level) of a document's headings; empty for a field of another source with this name."""
    value = metadata.get(HEADINGS)
    if not isinstance(value, list | tuple):
        return ()
    parts = [tuple(part) for part in value if isinstance(part, list | tuple)]
    if len(parts) < len(value) or not all(len(part) == 3 and all(isinstance(n, int) for n in part) for part in parts):
        return ()
    return tuple((start, end, level) for start, end, level in parts)


def shifted(metadata: Mapping[str, Any], by: int) -> dict[str, Any]:
    """Return the metadata of a document with `by` code points before its text; the first page begins with them."""
    moved = dict(metadata)
    if starts := _starts(metadata):
        moved[PAGE_STARTS] = [0, *(start + by for start in starts[1:])]
    if headings := headings_of(metadata):
        moved[HEADINGS] = [[start + by, end + by, level] for start, end, level in headings]
    return moved


class Pages:
    """The pages of a document.

    Args:
        metadata: the document's other fields.

    Attributes:
        source: path of the file relative to the source folder; empty if unknown.
    """

    def __init__(self, metadata: Mapping[str, Any]) -> None:
        source = metadata.get(SOURCE)
        self.source = source if isinstance(source, str) else ""
        self._starts = _starts(metadata)

    def page(self, start: int) -> int | None:
        """Return the number from 1 of the page with a code point of the text; None if the document has no pages."""
        return bisect_right(self._starts, start) if self._starts else None

    def place(self, start: int, end: int) -> str:
        """Return file and pages of a passage, e.g. ``report.pdf, p. 12``; empty if the document has no pages."""
        first, last = self.page(start), self.page(max(start, end - 1))
        if first is None:
            return ""
        pages = f"p. {first}" if first == last else f"pp. {first}-{last}"
        name = self.source.rpartition("/")[2]
        return f"{name}, {pages}" if name else pages


def _starts(metadata: Mapping[str, Any]) -> list[int]:
    """Return the offsets of the pages; empty for a field of another source with this name."""
    value = metadata.get(PAGE_STARTS)
    if not isinstance(value, list) or not value or value[0] != 0:
        return []
    ascending = all(isinstance(start, int) for start in value) and all(a <= b for a, b in pairwise(value))
    return value if ascending else []
