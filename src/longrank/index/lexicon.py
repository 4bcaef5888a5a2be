"""Turn the texts of documents into numbers of terms; known words are kept from batch to batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.index.arrays import Array
from longrank.index.counting import Counts, Tokens, by_document, by_term, count
from longrank.index.units import CLASSES, fill, number, scan
from longrank.text.analysis import ANALYZERS

_MOST_UNITS, _MOST_BYTES = 1 << 18, 1 << 22  # known units and their bytes, beyond which all are forgotten
_ROOM = 1 << 12  # units of an empty table
_SCANNED = 1 << 16  # units found at a time
_NONE = np.empty(0, np.uint32)
_PREFIX = 8  # bytes of a term that are compared first


class Texts(NamedTuple):
    """Texts as bytes, one after another, and their bounds, int64[n + 1]."""

    raw: bytes
    bounds: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[bytes]) -> Texts:
        """Return some texts."""
        bounds = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=bounds[1:])
        return cls(b"".join(texts), bounds)


class Inverted(NamedTuple):
    """The terms of a batch of documents, sorted, with their postings and the terms of each document.

    Attributes:
        terms: the T terms, sorted by their bytes.
        starts: int64[T + 1]; postings of term i are ``docs[starts[i]:starts[i + 1]]``.
        docs, tfs: uint32, documents, ascending, and occurrences.
        counts: int64[D], terms of each document.
        forward_terms, forward_tfs: uint32, the terms of each document, ascending, and their occurrences.
        lengths: int64[D], occurrences of all terms of each document.
    """

    terms: list[bytes]
    starts: NDArray[np.int64]
    docs: NDArray[np.uint32]
    tfs: NDArray[np.uint32]
    counts: NDArray[np.int64]
    forward_terms: NDArray[np.uint32]
    forward_tfs: NDArray[np.uint32]
    lengths: NDArray[np.int64]


class _Table(NamedTuple):
    """The hash table of `longrank.index.units.number`."""

    slots: NDArray[np.int32]
    keys: NDArray[np.uint64]
    kinds: NDArray[np.uint8]
    ends: NDArray[np.int64]
    text: NDArray[np.uint8]
    size: NDArray[np.int64]


class Lexicon:
    """Words of documents and their terms. Results depend on the documents alone, not on earlier batches."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._table = _empty(_ROOM, 16 * _ROOM)
        self._names: list[str] = []
        self._term_ends, self._unit_terms = np.zeros(1, np.int64), np.empty(0, np.uint32)
        self._numbers: dict[str, int] = {}
        self._terms: list[bytes] = []
        self._prefixes = np.empty(0, np.uint64)

    def inverted(self, parts: Iterable[tuple[Texts, int]], analyzers: Sequence[str]) -> Inverted:
        """Count and sort the terms of some documents.

        Args:
            parts: texts of the D documents, such as titles and bodies, and how often each word counts.
            analyzers: the name of each document's analyzer.
        """
        if self._n_units > _MOST_UNITS or self._table.ends[self._n_units] > _MOST_BYTES:
            self._forget()
        self._names += sorted(set(analyzers) - set(self._names))
        numbers = np.array([self._names.index(name) for name in analyzers], np.uint8)
        tokens = tuple(self._tokens(texts, numbers, weight) for texts, weight in parts)
        self._learn()
        return self._sorted(self._counted(tokens, len(analyzers)))

    @property
    def _n_units(self) -> int:
        return int(self._table.size[0])

    def _tokens(self, texts: Texts, analyzers: NDArray[np.uint8], weight: int) -> Tokens:
        """Cut texts into units, and number the units."""
        raw, ends = np.frombuffer(texts.raw, np.uint8), np.zeros(len(analyzers) + 1, np.int64)
        state, spans, keys = np.zeros(2, np.int64), np.empty((_SCANNED, 3), np.int64), np.empty(_SCANNED, np.uint64)
        numbered = []
        while n := scan(raw, texts.bounds, analyzers, CLASSES, state, spans, keys, ends):
            units, done = np.empty(n, np.uint32), 0
            while (done := number(raw, spans[:n], keys[:n], done, *self._table, units)) < n:
                self._grow(int(spans[done, 1] - spans[done, 0]))
            numbered.append(units)
        return Tokens(np.concatenate(numbered or [_NONE]), np.cumsum(ends), np.array([weight]))

    def _grow(self, length: int) -> None:
        """Give the table room for more units, and for a unit of `length` bytes."""
        old, n = self._table, self._n_units
        new = _empty(2 * len(old.keys), 2 * len(old.text) + length)
        new.keys[:n], new.kinds[:n], new.ends[: n + 1], new.size[0] = old.keys[:n], old.kinds[:n], old.ends[: n + 1], n
        new.text[: old.ends[n]] = old.text[: old.ends[n]]
        fill(new.slots, new.keys[:n])
        self._table = new

    def _learn(self) -> None:
        """Look up the terms of new units."""
        known, units, n = len(self._term_ends) - 1, self._table, self._n_units
        ends = units.ends[known : n + 1]
        text, kinds = units.text[ends[0] : ends[-1]].tobytes(), units.kinds[known:n].tolist()
        terms: list[int] = []
        counts = []
        for (begin, end), kind in zip(pairwise((ends - ends[0]).tolist()), kinds, strict=True):
            before = len(terms)
            terms += self._terms_of(text[begin:end].decode(errors="surrogatepass"), kind)
            counts.append(len(terms) - before)
        self._term_ends = np.concatenate((self._term_ends, self._term_ends[-1] + np.cumsum(counts, dtype=np.int64)))
        self._unit_terms = np.concatenate((self._unit_terms, np.array(terms, np.uint32)))
        new = [term.encode(errors="surrogatepass") for term in islice(self._numbers, len(self._terms), None)]
        self._terms += new
        self._prefixes = np.concatenate((self._prefixes, _prefixes(new)))

    def _terms_of(self, unit: str, kind: int) -> list[int]:
        analyzer, numbers = ANALYZERS[self._names[kind >> 1]], self._numbers
        terms = analyzer(unit) if kind & 1 else filter(None, (analyzer.term(unit),))
        return [numbers.setdefault(term, len(numbers)) for term in terms]

    def _counted(self, parts: tuple[Tokens, ...], n_docs: int) -> Counts:
        weights = np.diff(self._term_ends)
        most = sum(int(weights[part.units].sum()) for part in parts)
        terms, tfs = np.empty((2, most), np.uint32)
        ends, lengths, dfs = (np.zeros(n, np.int64) for n in (n_docs + 1, n_docs, len(self._terms)))
        counts = Counts(terms, tfs, ends, lengths, dfs)
        count(parts, self._term_ends, self._unit_terms, counts)
        return counts

    def _sorted(self, counts: Counts) -> Inverted:
        order = self._order(np.flatnonzero(counts.dfs))
        ranks = np.empty(len(self._terms), np.uint32)
        ranks[order] = np.arange(len(order), dtype=np.uint32)
        starts = np.concatenate(([0], np.cumsum(counts.dfs[order])))
        docs, tfs, forward_terms, forward_tfs = np.empty((4, starts[-1]), np.uint32)
        by_term(counts, ranks, starts.copy(), docs, tfs)
        by_document(starts, docs, tfs, counts.ends.copy(), forward_terms, forward_tfs)
        terms, n_terms = [self._terms[i] for i in order.tolist()], np.diff(counts.ends)
        return Inverted(terms, starts, docs, tfs, n_terms, forward_terms, forward_tfs, counts.lengths)

    def _order(self, used: Array) -> Array:
        """Sort terms by their bytes: by the first eight, and where these are equal, by all."""
        order: Array = used[np.argsort(self._prefixes[used])]
        prefixes = self._prefixes[order]
        edges = np.flatnonzero(np.diff(prefixes[1:] == prefixes[:-1], prepend=False, append=False))
        for first, last in edges.reshape(-1, 2).tolist():
            order[first : last + 1] = sorted(order[first : last + 1].tolist(), key=self._terms.__getitem__)
        return order


def _empty(room: int, n_bytes: int) -> _Table:
    slots, keys, kinds = np.full(4 * room, -1, np.int32), np.empty(room, np.uint64), np.empty(room, np.uint8)
    return _Table(slots, keys, kinds, np.zeros(room + 1, np.int64), np.empty(n_bytes, np.uint8), np.zeros(1, np.int64))


def _prefixes(terms: Sequence[bytes]) -> NDArray[np.uint64]:
    """Return the first bytes of terms as numbers, which order as the bytes do."""
    padded = b"".join([term[:_PREFIX].ljust(_PREFIX, b"\0") for term in terms])
    return np.frombuffer(padded, ">u8").astype(np.uint64)
