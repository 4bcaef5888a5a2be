"""What feedback documents hold, as arrays over all their terms, and weighted terms as queries.

Anserini goes through feedback documents with maps of strings. Here a term is its number in the index,
which also is its place in alphabetical order, and only the terms of the new query become strings.
Weights are float32, added in the order of the documents, as in Anserini: that decides which of two
terms with nearly equal weights is the heavier one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.index import Index
from longrank.types import Float32s

Bools = NDArray[np.bool_]
Int64s = NDArray[np.int64]

LETTERS, DIGITS, OTHERS = 1, 2, 4
"""What a term is made of, as bits: a to z, 0 to 9, anything else."""

_KINDS = np.full(256, OTHERS, np.uint8)
_KINDS[ord("a") : ord("z") + 1] = LETTERS
_KINDS[ord("0") : ord("9") + 1] = DIGITS
# UTF-16 code units that begin with a byte of UTF-8, which is how Java counts: two for four bytes, else one.
_UNITS = np.repeat(np.array([1, 0, 1, 2], np.int64), [0x80, 0x40, 0x30, 0x10])

_MAX_SHARE = np.float32(0.1)  # of the documents; terms in more of them teach nothing


class Occurrences(NamedTuple):
    """The distinct terms of some documents, one document after another.

    Attributes:
        docs: int64[n], the place of the document among those given, ascending.
        terms: int64[n], the number of the term, ascending within a document.
        tfs: int64[n], how often the document holds it.
    """

    docs: Int64s
    terms: Int64s
    tfs: Int64s

    def only(self, which: Bools | Int64s) -> Occurrences:
        """Return those that a mask or their places select."""
        return Occurrences(self.docs[which], self.terms[which], self.tfs[which])


class Spelling(NamedTuple):
    """How terms are written: their lengths, int64[n], and what they are made of, uint8[n] of the bits above."""

    lengths: Int64s
    kinds: NDArray[np.uint8]

    @property
    def usual(self) -> Bools:
        """Which have 2 to 20 characters, as Anserini wants them."""
        return (self.lengths >= 2) & (self.lengths <= 20)


def occurrences(index: Index, numbers: NDArray[np.integer]) -> Occurrences:
    """Return the terms of the documents of these numbers; at least one document."""
    vectors = [index.vector(number) for number in numbers.tolist()]
    sizes = [len(terms) for terms, _ in vectors]
    return Occurrences(
        np.repeat(np.arange(len(vectors)), sizes),
        np.concatenate([terms for terms, _ in vectors]).astype(np.int64),
        np.concatenate([tfs for _, tfs in vectors]).astype(np.int64),
    )


def spelling(index: Index, terms: Int64s) -> Spelling:
    """Return how the terms of these numbers are written."""
    if not len(terms):
        return Spelling(terms, np.empty(0, np.uint8))
    text, bounds = index.spelled(terms)
    starts = bounds[:-1]
    return Spelling(np.add.reduceat(_UNITS[text], starts), np.bitwise_or.reduceat(_KINDS[text], starts))


def rare(index: Index, terms: Int64s) -> Bools:
    """Return which terms are in at most a tenth of the documents that have terms."""
    return index.dfs(terms).astype(np.float32) / np.float32(index.n_nonempty) <= _MAX_SHARE


def most_frequent(found: Occurrences, n: int) -> Occurrences:
    """Return the `n` most frequent terms of each document, the first in the alphabet among equals."""
    by_tf = found.only(np.lexsort((-found.tfs, found.docs)))
    starts = np.searchsorted(by_tf.docs, by_tf.docs)  # where the document of each begins
    return by_tf.only(np.arange(len(starts)) - starts < n)


def added(terms: Int64s, values: Float32s) -> tuple[Int64s, Float32s]:
    """Return (distinct terms, ascending; the sum of the values of each), added one by one in the order given."""
    distinct, places = np.unique(terms, return_inverse=True)
    sums = np.zeros(len(distinct), np.float32)
    np.add.at(sums, places, values)
    return distinct, sums


def heaviest(weights: NDArray[np.floating], n: int) -> Int64s:
    """Return the places of the `n` largest weights, largest first; equal ones in the order they stand in."""
    return np.argsort(-weights, kind="stable")[:n]


def ordered(weights: Mapping[str, float]) -> dict[str, float]:
    """Return the terms with positive weights, heaviest first, equal ones in alphabetical order."""
    return dict(sorted(((t, w) for t, w in weights.items() if w > 0), key=lambda item: (-item[1], item[0])))
