# ruff: noqa: PLR0917 - compiled code takes plain arrays, by position
"""The best documents of a search, kept while documents are found.

A key of a document is the bits of its float32 score, then its place in the order of equal scores.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.index.arrays import Array
from longrank.index.compiling import compiled, compiled_lean
from longrank.index.window_terms import Docs

_BUCKET = 16  # bits of a float32 that are left out of its bucket; scores of a bucket differ by 1 in 128 at most
BUCKETS = 1 << (31 - _BUCKET)
_U = np.uint64
_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)


class Best(NamedTuple):
    """The best documents so far, and others.

    Attributes:
        k: the number of documents wanted.
        descending: True: the larger rank comes first among equal scores.
        keys: uint64, more than k.
        docs: int64, the slots of the documents.
        state: int64[2], the number of documents in `keys` and `docs`, and their highest bucket of scores.
        floor: uint64[1], the key that a further document must reach.
        counts: int32[BUCKETS], the number of documents of each bucket of scores.
    """

    k: int
    descending: bool
    keys: NDArray[np.uint64]
    docs: NDArray[np.int64]
    state: NDArray[np.int64]
    floor: NDArray[np.uint64]
    counts: NDArray[np.int32]


@compiled_lean
def push(best: Best, sums: Array, base: Any, places: Array, n: Any, docs: Docs) -> None:
    """Keep the documents in the first `n` places of a window that may be among the best."""
    for i in range(n):
        place = np.int64(places[i])
        doc = base + place
        if len(docs.excluded) and docs.excluded[doc]:
            continue
        bits = np.float32(sums[place]).view(np.uint32)
        rank = _U(docs.ranks[doc])
        key = _U(bits) << _HALF | (rank if best.descending else _LOW - rank)
        if key >= best.floor[0]:
            at, bucket = best.state[0], np.int64(bits >> _BUCKET)
            best.keys[at] = key
            best.docs[at] = doc + docs.slot
            best.state[0] = at + 1
            best.counts[bucket] += 1
            best.state[1] = max(best.state[1], bucket)
            if at + 1 == len(best.keys):
                _shrink(best)


@compiled_lean
def raise_floor(best: Best) -> None:
    """Raise the floor to a bucket of scores from which on there are at least k documents."""
    if best.state[0] < best.k:
        return
    n, bucket, lowest = 0, best.state[1], np.int64(best.floor[0] >> _U(32 + _BUCKET))
    while bucket > lowest:
        n += best.counts[bucket]
        if n >= best.k:
            best.floor[0] = max(best.floor[0], _U(bucket) << _U(_BUCKET) << _HALF)
            break
        bucket -= 1


@compiled_lean
def _shrink(best: Best) -> None:
    """Keep the k best documents, and set the key that others must reach."""
    select(best.keys, best.docs, best.state[0], best.k)
    best.state[0] = best.k
    best.counts[:] = 0
    least = best.keys[0]
    for i in range(best.k):
        least = min(least, best.keys[i])
        best.counts[np.int64(best.keys[i] >> _U(32 + _BUCKET))] += 1
    best.floor[0] = least


@compiled_lean
def select(keys: NDArray[np.uint64], docs: NDArray[np.int64], n: int, k: int) -> None:
    """Bring the k largest of the first `n` keys to the front, with their documents (quickselect)."""
    low, high = np.int64(0), np.int64(n - 1)
    while low < high:
        pivot, i, j = keys[(low + high) >> 1], low, high
        while i <= j:
            while keys[i] > pivot:
                i += 1
            while keys[j] < pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                docs[i], docs[j] = docs[j], docs[i]
                i, j = i + 1, j - 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            break


@compiled_lean
def least_sum(best: Best) -> Any:
    """Return a sum that no sum rounded to the float32 of the floor is below."""
    least = np.uint32(best.floor[0] >> _HALF)
    if least == 0:
        return 0.0
    return np.float64(np.uint32(least - np.uint32(1)).view(np.float32))


@compiled
def emptied(best: Best, keys: Array, docs: Array) -> Any:
    """Move the keys and slots of the best documents, in any order, to uint64[k] and int64[k]; return their number."""
    raise_floor(best)
    n = 0
    for i in range(best.state[0]):
        key = best.keys[i]
        best.counts[np.int64(key >> _U(32 + _BUCKET))] = 0
        best.keys[n], best.docs[n] = key, best.docs[i]
        n += key >= best.floor[0]
    if n > best.k:
        select(best.keys, best.docs, n, best.k)
        n = best.k
    keys[:n], docs[:n] = best.keys[:n], best.docs[:n]
    best.state[:] = 0
    best.floor[:] = 0
    return n
