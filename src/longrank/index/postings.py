"""Postings: the documents of each term, and the terms of each document, memory-mapped."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.index.arrays import Array, Strings, mapped

_NONE = np.empty(0, np.uint32)


class TermPostings(NamedTuple):
    """Postings of some terms in a segment.

    Attributes:
        docs: uint32, document numbers of all postings of the segment, ascending for each term.
        tfs: unsigned, occurrences of the term in each document.
        starts: int64[T], first posting of each term.
        stops: int64[T], one past the last; equal to the start for a term that the segment lacks.
    """

    docs: NDArray[np.uint32]
    tfs: Array
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]


def _bisected(terms: Strings, term: str) -> int | None:
    """Find a term; a cached method would keep the mapped files open until garbage collection."""
    return terms.find(term.encode(errors="surrogatepass"))


class Postings:
    """Terms in sorted order, numbered from 0; a term is found by bisection in the file.

    Attributes:
        starts: uint64[T + 1]; the postings of term t are ``[starts[t]:starts[t + 1]]`` of `docs` and `tfs`.
        docs: uint32, document numbers, ascending for each term.
        tfs: unsigned, occurrences of the term in each document.
    """

    def __init__(self, folder: Path, tf_type: str) -> None:
        self._terms = Strings.mapped(folder, "terms")
        self.starts = mapped(folder / "starts", "<u8")
        self._counts = mapped(folder / "term_counts", "<u8")
        self.docs = mapped(folder / "docs", "<u4")
        self.tfs = mapped(folder / "tfs", tf_type)
        self.number = lru_cache(1 << 16)(partial(_bisected, self._terms))

    def __len__(self) -> int:
        return len(self._terms)

    def __iter__(self) -> Iterator[str]:
        return (term.decode() for term in self._terms)

    @property
    def sorted_terms(self) -> Strings:
        """All terms as bytes, sorted."""
        return self._terms

    def located(self, numbers: NDArray[np.int64]) -> list[TermPostings]:
        """Return the postings of some terms in each segment: a list of one."""
        starts, stops = self.starts[numbers].astype(np.int64), self.starts[numbers + 1].astype(np.int64)
        return [TermPostings(self.docs, self.tfs, starts, stops)]

    def strings(self, numbers: NDArray[np.integer]) -> list[str]:
        """Return the terms with these numbers."""
        return self._terms.decoded(numbers)

    def spelled(self, numbers: NDArray[np.integer]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return (the UTF-8 bytes of these terms, one after another; their offsets, int64[n + 1])."""
        return self._terms.gathered(numbers)

    def dfs(self, numbers: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the number of documents with each of these terms."""
        dfs: NDArray[np.int64] = (self.starts[numbers + 1] - self.starts[numbers]).astype(np.int64)
        return dfs

    def counts(self, numbers: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the occurrences of each of these terms in all documents together."""
        counts: NDArray[np.int64] = self._counts[numbers].astype(np.int64)
        return counts

    def df(self, term: str) -> int:
        """Return the number of documents with the term."""
        number = self.number(term)
        return 0 if number is None else int(self.starts[number + 1] - self.starts[number])

    def count(self, term: str) -> int:
        """Return the occurrences of the term in all documents together."""
        number = self.number(term)
        return 0 if number is None else int(self._counts[number])

    def of(self, term: str) -> tuple[NDArray[np.uint32], Array]:
        """Return (document numbers, ascending; occurrences in each), both [df]."""
        number = self.number(term)
        if number is None:
            return _NONE, _NONE
        start, stop = self.starts[number : number + 2].tolist()
        return self.docs[start:stop], self.tfs[start:stop]


class Forward:
    """The term numbers of each document, for feedback models.

    Attributes:
        offsets: uint64[D + 1], first term of each document.
    """

    def __init__(self, folder: Path, tf_type: str) -> None:
        self.offsets = mapped(folder / "forward_offsets", "<u8")
        self._terms = mapped(folder / "forward_terms", "<u4")
        self._tfs = mapped(folder / "forward_tfs", tf_type)

    def of(self, number: int) -> tuple[NDArray[np.uint32], Array]:
        """Return (term numbers, ascending; occurrences in the document), both [distinct terms]."""
        start, stop = self.offsets[number : number + 2].tolist()
        return self._terms[start:stop], self._tfs[start:stop]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Distinct terms of each document, int64[D]."""
        counts: NDArray[np.int64] = np.diff(self.offsets).astype(np.int64)
        return counts

    def between(self, first: int, last: int) -> tuple[NDArray[np.uint32], Array]:
        """Return (term numbers, occurrences) of the documents ``[first:last]``, one after another."""
        start, stop = int(self.offsets[first]), int(self.offsets[last])
        return self._terms[start:stop], self._tfs[start:stop]
