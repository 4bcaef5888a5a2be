"""Terms of passages as numbers: each document is analysed once while it is kept in memory.

Passages are split at blanks, which no term contains. So most parts are words that were seen before, and overlapping
windows cost a look-up per word.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from itertools import chain
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.storage.kept import Kept, key_of
from longrank.text.words import between_blanks
from longrank.types import Int32s

_KEPT_BYTES = 128 << 20  # terms kept in memory
_MOST_TERMS = 1 << 19  # different terms with a number; about 50 MB
_MOST_PARTS = 1 << 18  # different parts with known terms; about 50 MB
_LONG = 64  # characters; the terms of longer parts are not kept

Analyzer = Callable[[str], list[str]]


class Terms(NamedTuple):
    """Terms of a document's passages: int32[N], passage after passage, and the number of terms of each, int32[P]."""

    numbers: Int32s
    lengths: Int32s


class Counts(NamedTuple):
    """Occurrences of a query's terms in passages.

    Attributes:
        lengths: number of terms of each passage, int32[P].
        passages: passage of each pair of passage and term that occurs, ascending, intp[N].
        terms: place of its term in the query, intp[N].
        counts: occurrences of the term in the passage, intp[N].
    """

    lengths: Int32s
    passages: NDArray[np.intp]
    terms: NDArray[np.intp]
    counts: NDArray[np.intp]


class PassageTerms:
    """Counts terms of passages, and keeps the terms of the documents used last. Threads may share it.

    Args:
        analyzer: turns text into terms, none of which contains a blank.
    """

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer, self._lock = analyzer, Lock()
        self._forget()

    def _forget(self) -> None:
        self._numbers: dict[str, int] = {}
        self._parts = _Parts(self._analyzer, self._numbers)
        self._kept = Kept[Terms](_KEPT_BYTES)

    def count(self, terms: Sequence[str], documents: Sequence[Sequence[str]]) -> Counts:
        """Count terms in the passages of documents, document after document.

        Args:
            terms: T different terms.
            documents: texts of the passages of each document, at least one document.
        """
        with self._lock:
            if len(self._numbers) >= _MOST_TERMS:
                self._forget()
            known = [self._of(texts) for texts in documents]
            table = self._places(terms)
        lengths = np.concatenate([document.lengths for document in known])
        places = table[np.concatenate([document.numbers for document in known])]
        (hits,) = np.nonzero(places >= 0)
        passages = np.searchsorted(np.cumsum(lengths), hits, side="right")
        pairs, counts = np.unique(passages * len(terms) + places[hits], return_counts=True)
        return Counts(lengths, *np.divmod(pairs, max(1, len(terms))), counts)

    def _places(self, terms: Sequence[str]) -> NDArray[np.intp]:
        """Return a table: number of a term -> its place in `terms`, -1 for other terms."""
        table = np.full(len(self._numbers), -1, np.intp)
        for place, term in enumerate(terms):
            if term in self._numbers:
                table[self._numbers[term]] = place
        return table

    def _of(self, texts: Sequence[str]) -> Terms:
        key = key_of(texts)
        known = self._kept.get(key)
        if known is None:
            known = self._analysed(texts)
            self._kept.add(key, known, known.numbers.nbytes + known.lengths.nbytes)
        return known

    def _analysed(self, texts: Sequence[str]) -> Terms:
        if len(self._parts) >= _MOST_PARTS:
            self._parts.clear()
        numbers, ends = array("i"), [0]
        for text in texts:
            numbers.extend(chain.from_iterable(map(self._parts.__getitem__, between_blanks(text))))
            ends.append(len(numbers))
        return Terms(np.array(numbers, np.int32), np.diff(ends).astype(np.int32))


class _Parts(dict[str, tuple[int, ...]]):
    """Cache: text without a blank -> the numbers of its terms."""

    def __init__(self, analyzer: Analyzer, numbers: dict[str, int]) -> None:
        super().__init__()
        self._analyzer, self._numbers = analyzer, numbers

    def __missing__(self, part: str) -> tuple[int, ...]:
        known = self._numbers
        numbers = tuple([known.setdefault(term, len(known)) for term in self._analyzer(part)])
        if len(part) <= _LONG:
            self[part] = numbers
        return numbers
