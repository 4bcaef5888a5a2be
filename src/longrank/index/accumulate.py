"""Compiled inner loops of search: add up postings, and select the best sums.

Sums are float64 and begin at -0.0. Adding +0.0 gives +0.0, so the sign alone tells a document that was met with a
score of 0 from a document that was not met. No sum is below zero, so sums compare like the integers of their bits.
Term scores are float32, added in the order of term numbers, so sums are the same in every run. If term scores lie
within five orders of magnitude, sums are also exact (29 bits are left to sum up 1024).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.index.arrays import Array
from longrank.index.compiling import compiled
from longrank.types import Float32s

_GROUP = 32  # sums in a group; only the largest of a group is compared first
GAINS = 64  # tfs whose logarithms are kept
_ONE = np.float32(1)
_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)


@compiled
def bm25_score(weight: Any, tf: Any, norm: Any) -> Any:
    """Return ``w - w / (1 + tf * norm)`` in float32, operation by operation as Lucene computes it."""
    return weight - weight / (_ONE + np.float32(tf) * norm)


@compiled
def add_bm25(  # noqa: PLR0917 - compiled code takes plain arrays, by position
    docs: NDArray[np.uint32],
    tfs: Array,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    weights: Float32s,
    classes: Array,
    norms: Float32s,
    sums: NDArray[np.float64],
) -> None:
    """Add the score of each posting of some terms.

    Args:
        docs: document numbers of all postings.
        tfs: occurrences of all postings.
        starts: int64[T], first posting of each term.
        stops: int64[T], one past the last.
        weights: float32[T], query weight times idf.
        classes: unsigned[D], place of each document's norm in `norms`.
        norms: result of `similarity.inverse_norms` for each class.
        sums: float64[D], changed.
    """
    for term in range(len(starts)):
        weight = weights[term]
        for i in range(starts[term], stops[term]):
            doc = docs[i]
            sums[doc] += bm25_score(weight, tfs[i], norms[classes[doc]])


@compiled
def dirichlet_gain(rarity: Any, tf: Any) -> Any:
    """Return ``ln(1 + tf * rarity)``, `rarity` being 1 / (mu * p(t))."""
    return math.log(1 + tf * rarity)


@compiled
def dirichlet_score(weight: Any, gain: Any, offset: Any) -> Any:
    """Return ``max(0, w * (gain + offset))``, rounded to float32."""
    return max(np.float32(weight * (gain + offset)), np.float32(0))


@compiled
def add_dirichlet(  # noqa: PLR0917
    docs: NDArray[np.uint32],
    tfs: Array,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    weights: NDArray[np.float64],
    rarity: NDArray[np.float64],
    classes: Array,
    offsets: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Add ``max(0, w * (ln(1 + tf * rarity) + offset))``, rounded to float32, for each posting of some terms.

    Args:
        docs, tfs, starts, stops, classes, sums: as in `add_bm25`.
        weights: float64[T], query weights.
        rarity: float64[T], 1 / (mu * p(t)).
        offsets: ln(mu / (dl + mu)) for each class.
    """
    known = np.empty(GAINS)
    for term in range(len(starts)):
        for tf in range(len(known)):
            known[tf] = dirichlet_gain(rarity[term], tf)
        for i in range(starts[term], stops[term]):
            occurs, doc = tfs[i], docs[i]
            gain = known[occurs] if occurs < len(known) else dirichlet_gain(rarity[term], occurs)
            sums[doc] += dirichlet_score(weights[term], gain, offsets[classes[doc]])


def best(
    sums: NDArray[np.float64], ranks: NDArray[np.uint32], k: int, *, descending: bool
) -> tuple[NDArray[np.int64], Float32s]:
    """Return the k best documents that were met: (numbers, scores rounded to float32), best first.

    Args:
        sums: float64[D], from the functions above.
        ranks: uint32[D], the place of each document in sorted ids; it orders equal scores.
        k: largest number of documents.
        descending: True: the larger rank comes first among equal scores.
    """
    bits = sums.view(np.int64)
    numbers = np.flatnonzero(bits >= _lower_bound(bits, k))
    scores, order = sums[numbers].astype(np.float32), ranks[numbers].astype(np.uint64)
    keys = scores.view(np.uint32).astype(np.uint64) << _HALF | (order if descending else _LOW - order)
    if len(keys) > k:
        kept = np.argpartition(keys, len(keys) - k)[len(keys) - k :]
        numbers, scores, keys = numbers[kept], scores[kept], keys[kept]
    sorting = np.argsort(keys)[::-1]
    return numbers[sorting], scores[sorting]


def _lower_bound(bits: NDArray[np.int64], k: int) -> np.int64:
    """Return a bound that the k best sums and few others reach, without sorting.

    The k-th largest maximum of groups of `_GROUP` sums is not above the k-th largest sum. The bound is lowered to the
    smallest value that rounds to the same float32, since ranks order equal scores.
    """
    n_groups = len(bits) // _GROUP
    if n_groups < k:
        return np.int64(0)
    maxima = bits[: n_groups * _GROUP].reshape(_GROUP, n_groups).max(axis=0)
    reached = np.partition(maxima, n_groups - k)[n_groups - k]
    if reached <= 0:
        return np.int64(0)
    below = np.nextafter(np.float32(reached.view(np.float64)), np.float32(0))
    return np.float64(below).view(np.int64)
