"""Terms of feedback documents as arrays, and weighted terms as queries.

Anserini keeps the terms of feedback documents in maps of strings. Here a term is its number in the index, which follows
alphabetical order; only the terms of the new query become strings. Weights are float32, added in the order of the
documents as in Anserini, which decides the order of terms with nearly equal weights.
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
"""Kinds of characters in a term, as bits: a to z, 0 to 9, any other character."""

_KINDS = np.full(256, OTHERS, np.uint8)
_KINDS[ord("a") : ord("z") + 1] = LETTERS
_KINDS[ord("0") : ord("9") + 1] = DIGITS
# UTF-16 code units per first byte in UTF-8, since Java counts code units: two for four bytes, else one.
_UNITS = np.repeat(np.array([1, 0, 1, 2], np.int64), [0x80, 0x40, 0x30, 0x10])

_MAX_SHARE = np.float32(0.1)  # of the documents; more frequent terms are no feedback terms


class Occurrences(NamedTuple):
    """The distinct terms of each document, document by document.

    Attributes:
        docs: int64[n], position of the document, ascending.
        terms: int64[n], number of the term, ascending within a document.
        tfs: int64[n], occurrences of the term in the document.
    """

    docs: Int64s
    terms: Int64s
    tfs: Int64s

    def only(self, selection: Bools | Int64s) -> Occurrences:
        """Return the occurrences that a mask or positions select."""
        return Occurrences(self.docs[selection], self.terms[selection], self.tfs[selection])


class Spelling(NamedTuple):
    """Spelling of terms: lengths, int64[n], and kinds of characters, uint8[n] of the bits above."""

    lengths: Int64s
    kinds: NDArray[np.uint8]

    @property
    def usual(self) -> Bools:
        """Mask of the terms with 2 to 20 characters, as Anserini requires."""
        return (self.lengths >= 2) & (self.lengths <= 20)


def occurrences(index: Index, numbers: NDArray[np.integer]) -> Occurrences:
    """Return the terms of the documents `numbers`, at least one."""
    vectors = [index.vector(number) for number in numbers.tolist()]
    sizes = [len(terms) for terms, _ in vectors]
    return Occurrences(
        np.repeat(np.arange(len(vectors)), sizes),
        np.concatenate([terms for terms, _ in vectors]).astype(np.int64),
        np.concatenate([tfs for _, tfs in vectors]).astype(np.int64),
    )


def spelling(index: Index, terms: Int64s) -> Spelling:
    """Return the spelling of the terms with these numbers."""
    if not len(terms):
        return Spelling(terms, np.empty(0, np.uint8))
    text, bounds = index.spelled(terms)
    starts = bounds[:-1]
    return Spelling(np.add.reduceat(_UNITS[text], starts), np.bitwise_or.reduceat(_KINDS[text], starts))


def rare(index: Index, terms: Int64s) -> Bools:
    """Return a mask of the terms that are in at most a tenth of the documents with terms."""
    return index.dfs(terms).astype(np.float32) / np.float32(index.n_nonempty) <= _MAX_SHARE


def most_frequent(occurring: Occurrences, n: int) -> Occurrences:
    """Return the `n` most frequent terms of each document; ties in alphabetical order."""
    by_tf = occurring.only(np.lexsort((-occurring.tfs, occurring.docs)))
    starts = np.searchsorted(by_tf.docs, by_tf.docs)  # start of each occurrence's document
    return by_tf.only(np.arange(len(starts)) - starts < n)


def added(terms: Int64s, values: Float32s) -> tuple[Int64s, Float32s]:
    """Return (distinct terms, ascending; sums of their values), added in the order of the arguments."""
    distinct, places = np.unique(terms, return_inverse=True)
    sums = np.zeros(len(distinct), np.float32)
    np.add.at(sums, places, values)
    return distinct, sums


def heaviest(weights: NDArray[np.floating], n: int) -> Int64s:
    """Return the positions of the `n` largest weights, largest first; ties in their order."""
    return np.argsort(-weights, kind="stable")[:n]


def ordered(weights: Mapping[str, float]) -> dict[str, float]:
    """Return the terms with positive weights, heaviest first; ties in alphabetical order."""
    return dict(sorted(((t, w) for t, w in weights.items() if w > 0), key=lambda item: (-item[1], item[0])))
