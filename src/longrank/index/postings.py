"""The inverted index: for each term the documents it occurs in and how often, memory-mapped."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from longrank.index.arrays import Array, Strings, mapped

_NONE = np.empty(0, np.uint32)


class Postings:
    """Terms in sorted order; a term is found by bisection in the file."""

    def __init__(self, folder: Path, tf_type: str) -> None:
        self._terms = Strings.mapped(folder, "terms")
        self._starts = mapped(folder / "starts", "<u8")
        self._counts = mapped(folder / "term_counts", "<u8")
        self._docs = mapped(folder / "docs", "<u4")
        self._tfs = mapped(folder / "tfs", tf_type)
        self._find = lru_cache(1 << 14)(self._bisected)

    def __len__(self) -> int:
        return len(self._terms)

    def __iter__(self) -> Iterator[str]:
        return (term.decode() for term in self._terms)

    def _bisected(self, term: str) -> int | None:
        wanted = term.encode(errors="surrogatepass")
        place = bisect_left(self._terms, wanted)
        return place if place < len(self._terms) and self._terms[place] == wanted else None

    def df(self, term: str) -> int:
        """Return how many documents hold the term; 0 if none."""
        place = self._find(term)
        return 0 if place is None else int(self._starts[place + 1] - self._starts[place])

    def count(self, term: str) -> int:
        """Return how often the term occurs in all documents together."""
        place = self._find(term)
        return 0 if place is None else int(self._counts[place])

    def of(self, term: str) -> tuple[NDArray[np.uint32], Array]:
        """Return (document numbers, ascending; how often the term occurs in each), both [df]."""
        place = self._find(term)
        if place is None:
            return _NONE, _NONE
        start, stop = self._starts[place : place + 2].tolist()
        return self._docs[start:stop], self._tfs[start:stop]
