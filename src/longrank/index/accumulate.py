"""The inner loops of searching, compiled: postings are added up, and the best sums are picked.

Sums are float64 and begin at -0.0. Adding +0.0 to it gives +0.0, so the sign alone tells a document
that was met with a score of 0 from one that was not met. As none is below zero, sums compare like the
integers that their bits are. Term scores are float32 and visited in the order of term numbers, so sums are the same in
every run; where term scores lie within five orders of magnitude they are also exact (29 bits are left to sum up 1024).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from longrank.index.arrays import Array
from longrank.types import Float32s

_GROUP = 32  # sums of which only the largest is looked at first
_ONE = np.float32(1)
_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)


def _compiled(function: Callable[..., None]) -> Any:
    """Compile at the first call, without Python's lock; kept on disk for the next process where there is a place."""
    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:  # neither beside this file nor in a home folder can anything be written
        return njit(nogil=True)(function)


@_compiled
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
    """Add ``w - w / (1 + tf * norm)`` for each posting of some terms.

    Args:
        docs: document numbers of all postings.
        tfs: occurrences of all postings.
        starts: int64[T], where the postings of each term begin.
        stops: int64[T], where they end.
        weights: float32[T], query weight times idf.
        classes: unsigned[D], which of `norms` a document has.
        norms: what `similarity.inverse_norms` gives for each class.
        sums: float64[D], changed.
    """
    for term in range(len(starts)):
        weight = weights[term]
        for i in range(starts[term], stops[term]):
            doc = docs[i]
            sums[doc] += weight - weight / (_ONE + np.float32(tfs[i]) * norms[classes[doc]])


@_compiled
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
    known = np.empty(64)  # logarithms of the usual tfs
    for term in range(len(starts)):
        for tf in range(len(known)):
            known[tf] = math.log(1 + tf * rarity[term])
        for i in range(starts[term], stops[term]):
            occurs, doc = tfs[i], docs[i]
            gain = known[occurs] if occurs < len(known) else math.log(1 + occurs * rarity[term])
            score = np.float32(weights[term] * (gain + offsets[classes[doc]]))
            sums[doc] += max(score, np.float32(0))


def best(
    sums: NDArray[np.float64], ranks: NDArray[np.uint32], k: int, *, descending: bool
) -> tuple[NDArray[np.int64], Float32s]:
    """Return the k best documents that were met: (numbers, scores rounded to float32), best first.

    Args:
        sums: float64[D], as left by the functions above.
        ranks: uint32[D], the place of each document when ids are sorted; equal scores go by it.
        k: how many at most.
        descending: whether the larger rank comes first among equals.
    """
    bits = sums.view(np.int64)
    found = np.flatnonzero(bits >= _lower_bound(bits, k))
    scores, order = sums[found].astype(np.float32), ranks[found].astype(np.uint64)
    keys = scores.view(np.uint32).astype(np.uint64) << _HALF | (order if descending else _LOW - order)
    if len(keys) > k:
        kept = np.argpartition(keys, len(keys) - k)[len(keys) - k :]
        found, scores, keys = found[kept], scores[kept], keys[kept]
    sorting = np.argsort(keys)[::-1]
    return found[sorting], scores[sorting]


def _lower_bound(bits: NDArray[np.int64], k: int) -> np.int64:
    """Return a bound that the k best sums reach, and few others do, without sorting them.

    Cut into groups of `_GROUP`, the k-th largest of the groups' maxima is not above the k-th largest
    sum. The bound is lowered to whatever rounds to the same float32, since equal scores go by rank.
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
