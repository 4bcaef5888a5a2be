"""Random draws that are pure functions of a key (a seed and names), for all sampling.

There is no state, so order, process and repetition do not matter. A draw is the SHA-256 of the key's parts joined by
tabs; if that is too slow, it seeds numpy's RandomState, whose values are frozen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=object)


def digest(*key: object) -> bytes:
    """Return the 32 bytes that decide all draws of `key`."""
    return hashlib.sha256("\t".join(map(str, key)).encode("utf-8", "surrogatepass")).digest()


def below(n: int, *key: object) -> int:
    """Draw a number from 0, ..., n - 1, all equally likely (to within n / 2^64); n >= 1."""
    return int.from_bytes(digest(*key)[:8], "big") % n


def chance(*key: object) -> float:
    """Draw a number from [0, 1)."""
    return (int.from_bytes(digest(*key)[:8], "big") >> 11) * 2.0**-53


def distinct(n: int, k: int, *key: object) -> list[int]:
    """Draw `k` different numbers from 0, ..., n - 1, in random order; 0 <= k <= n. Time and memory grow with k only.

    These are the first k steps of Fisher and Yates' shuffle; a larger k for the same key only adds numbers at the end.
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} different numbers of {n}")
    moved: dict[int, int] = {}  # place -> its number after the steps so far
    drawn = []
    for i in range(k):
        place = i + below(n - i, *key, i)
        drawn.append(moved.get(place, place))
        moved[place] = moved.get(i, i)
    return drawn


def shuffled(items: Iterable[T], *key: object) -> list[T]:
    """Return different items in an order that depends on the key and the items, not on the input's order."""
    return sorted(items, key=lambda item: digest(*key, item))


def permutation(n: int, *key: object) -> NDArray[np.int64]:
    """Return 0, ..., n - 1 in random order, int64[n]: for many numbers, where `shuffled` is too slow."""
    seed = np.frombuffer(digest(*key), dtype="<u4")
    order: NDArray[np.int64] = np.arange(n, dtype=np.int64)
    np.random.RandomState(seed).shuffle(order)
    return order


def resamples(n: int, samples: int, *key: object) -> Iterator[NDArray[np.int64]]:
    """Yield samples of the bootstrap: n of the numbers 0, ..., n - 1 with replacement, int64[n] each."""
    draws = np.random.RandomState(np.frombuffer(digest(*key), dtype="<u4"))
    for _ in range(samples):
        yield draws.randint(0, n, n, dtype=np.int64)
