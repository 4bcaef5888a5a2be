"""Postings: the documents of each term, and the terms of each document, memory-mapped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.index.arrays import Array, Strings, mapped
from longrank.index.stored_postings import PackedTerms, TermPostings, open_postings

_NONE = np.empty(0, np.uint32)


class FoundTerms(NamedTuple):
    """Terms of a query that are in an index.

    Attributes:
        places: int64[T], places in the list of terms that was asked for, ascending.
        dfs: int64[T], documents with each term.
        counts: int64[T], occurrences of each term.
        segments: postings of the T terms in each segment, deleted documents included.
    """

    places: NDArray[np.int64]
    dfs: NDArray[np.int64]
    counts: NDArray[np.int64]
    segments: list[TermPostings | PackedTerms]

    @property
    def packed(self) -> list[PackedTerms] | None:
        """The segments, if the postings of all are packed; else None."""
        packed = [terms for terms in self.segments if isinstance(terms, PackedTerms)]
        return packed if len(packed) == len(self.segments) else None


def _bisected(terms: Strings, term: str) -> int | None:
    """Find a term; a cached method would keep the mapped files open until garbage collection."""
    return terms.find(term.encode(errors="surrogatepass"))


class Postings:
    """Terms in sorted order, numbered from 0; a term is found by bisection in the file.

    Attributes:
        starts: uint64[T + 1], the number of postings of the terms before each term.
        stored: the postings.
    """

    def __init__(self, folder: Path, tf_type: str) -> None:
        self._terms = Strings.mapped(folder, "terms")
        self.starts = mapped(folder / "starts", "<u8")
        self._counts = mapped(folder / "term_counts", "<u8")
        self.stored = open_postings(folder, self.starts.view(np.int64), tf_type)
        self.number = lru_cache(1 << 16)(partial(_bisected, self._terms))

    def __len__(self) -> int:
        return len(self._terms)

    def __iter__(self) -> Iterator[str]:
        return (term.decode() for term in self._terms)

    @property
    def sorted_terms(self) -> Strings:
        """All terms as bytes, sorted."""
        return self._terms

    def located(self, numbers: NDArray[np.int64]) -> TermPostings | PackedTerms:
        """Return the postings of some terms; none for -1."""
        return self.stored.terms(*self.stored.bounds(numbers))

    @cached_property
    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """Terms, their bounds, `starts` and occurrences of all terms, for compiled code."""
        text, bounds, _ = self._terms.packed
        return text, bounds, self.starts.view(np.int64), self._counts.view(np.int64)

    def found(self, terms: Sequence[str]) -> FoundTerms:
        """Return the terms that are in the index; terms are sorted."""
        known = [(place, number) for place, term in enumerate(terms) if (number := self.number(term)) is not None]
        places, numbers = np.array(known, np.int64).reshape(-1, 2).T
        return FoundTerms(places, self.dfs(numbers), self.counts(numbers), [self.located(numbers)])

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
        return self._between(number, number + 1)

    def runs(self, most: int) -> Iterator[tuple[NDArray[np.uint32], Array]]:
        """Yield all postings, term by term: (documents, occurrences) of as many terms at a time as have `most`."""
        for first, end in term_runs(self.dfs(np.arange(len(self))), most):
            yield self._between(first, end)

    def _between(self, first: int, end: int) -> tuple[NDArray[np.uint32], Array]:
        docs, tfs, starts, stops = self.located(np.arange(first, end)).decoded()
        return docs[starts[0] : stops[-1]], tfs[starts[0] : stops[-1]]


def term_runs(dfs: NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """Cut terms into runs of at most `most` postings, or of a single term: yield (first, end)."""
    ends = np.cumsum(dfs)
    first = 0
    while first < len(dfs):
        limit = (ends[first - 1] if first else 0) + most
        last = max(int(np.searchsorted(ends, limit, side="right")), first + 1)
        yield first, last
        first = last


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

    def gathered(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.uint32], Array]:
        """Return (term numbers, occurrences) of some documents, one after another."""
        starts, stops = self.offsets[numbers].astype(np.int64), self.offsets[numbers + 1].astype(np.int64)
        ends = np.cumsum(stops - starts)
        places = np.repeat(stops - ends, stops - starts) + np.arange(ends[-1])
        return self._terms[places], self._tfs[places]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Distinct terms of each document, int64[D]."""
        counts: NDArray[np.int64] = np.diff(self.offsets).astype(np.int64)
        return counts

    def between(self, first: int, last: int) -> tuple[NDArray[np.uint32], Array]:
        """Return (term numbers, occurrences) of the documents ``[first:last]``, one after another."""
        start, stop = int(self.offsets[first]), int(self.offsets[last])
        return self._terms[start:stop], self._tfs[start:stop]
