"""Postings of a segment as stored: packed, or in two arrays as versions before 4 of the index format wrote them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from longrank.index.arrays import Array, mapped

CODES, CODE_BEGINS = "codes", "code_begins"

_Int64s: TypeAlias = NDArray[np.int64]


class TermPostings(NamedTuple):
    """Postings of some terms in a segment.

    Attributes:
        docs: uint32, document numbers, ascending for each term.
        tfs: unsigned, occurrences of the term in each document.
        starts: int64[T], first posting of each term.
        stops: int64[T], one past the last; equal to the start for a term that the segment lacks.
    """

    docs: NDArray[np.uint32]
    tfs: Array
    starts: _Int64s
    stops: _Int64s

    def decoded(self) -> TermPostings:
        """Return the postings."""
        return self


class PackedTerms(NamedTuple):
    """Packed postings of some terms in a segment, see `longrank.index.blocks`.

    Attributes:
        codes: uint8, the bytes of all terms of the segment.
        begins: int64[T], first byte of each term.
        dfs: int64[T], postings of each term; 0 for a term that the segment lacks.
    """

    codes: NDArray[np.uint8]
    begins: _Int64s
    dfs: _Int64s

    def decoded(self) -> TermPostings:
        """Return the postings."""
        from longrank.index.blocks import decode  # compiled code takes time to load

        stops = np.cumsum(self.dfs)
        docs, tfs = np.empty((2, int(stops[-1]) if len(stops) else 0), np.uint32)
        decode(self.codes, self.begins, self.dfs, docs, tfs)
        return TermPostings(docs, tfs, stops - self.dfs, stops)


class PackedPostings:
    """Packed postings of all terms of a segment."""

    def __init__(self, folder: Path, starts: _Int64s) -> None:
        """Open the postings in `folder`; `starts`: int64[T + 1], postings before each term."""
        self._codes, self._starts = mapped(folder / CODES, "<u1"), starts
        self._begins = mapped(folder / CODE_BEGINS, "<u8").view(np.int64)

    def bounds(self, numbers: _Int64s) -> tuple[_Int64s, _Int64s]:
        """Return two numbers for each of some terms, for `terms`; of no postings for the term -1."""
        dfs = self._starts[numbers + 1] - self._starts[numbers]
        dfs[numbers < 0] = 0
        return self._begins[numbers], dfs

    def terms(self, begins: _Int64s, dfs: _Int64s) -> PackedTerms:
        """Return the postings of terms with these `bounds`."""
        return PackedTerms(self._codes, begins, dfs)


class PlainPostings:
    """Postings of all terms of a segment in two arrays."""

    def __init__(self, folder: Path, starts: _Int64s, tf_type: str) -> None:
        """Open the postings in `folder`; `starts`: int64[T + 1], postings before each term."""
        self._docs, self._tfs, self._starts = mapped(folder / "docs", "<u4"), mapped(folder / "tfs", tf_type), starts

    def bounds(self, numbers: _Int64s) -> tuple[_Int64s, _Int64s]:
        """Return two numbers for each of some terms, for `terms`; of no postings for the term -1."""
        starts, stops = self._starts[numbers], self._starts[numbers + 1]
        starts[numbers < 0] = 0  # as the stop, which is the first of all starts
        return starts, stops

    def terms(self, starts: _Int64s, stops: _Int64s) -> TermPostings:
        """Return the postings of terms with these `bounds`."""
        return TermPostings(self._docs, self._tfs, starts, stops)


def open_postings(folder: Path, starts: _Int64s, tf_type: str) -> PackedPostings | PlainPostings:
    """Open the postings in a data folder."""
    if (folder / CODES).exists():
        return PackedPostings(folder, starts)
    return PlainPostings(folder, starts, tf_type)
