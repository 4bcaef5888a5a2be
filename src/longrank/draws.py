"""Draws that are pure functions of a key, a seed and whatever names the draw: every sampling starts here.

No state, so it does not matter in which order, by which process or how often something is drawn. A draw is
SHA-256 of the key's parts joined by tabs; where that is too slow it seeds numpy's RandomState, whose values are frozen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=object)


def digest(*key: object) -> bytes:
    """Return the 32 bytes that everything about `key` is drawn from."""
    return hashlib.sha256("\t".join(map(str, key)).encode("utf-8", "surrogatepass")).digest()


def below(n: int, *key: object) -> int:
    """Draw one of 0, ..., n - 1, all equally likely (to within n / 2^64); n >= 1."""
    return int.from_bytes(digest(*key)[:8], "big") % n


def chance(*key: object) -> float:
    """Draw a number from [0, 1)."""
    return (int.from_bytes(digest(*key)[:8], "big") >> 11) * 2.0**-53


def distinct(n: int, k: int, *key: object) -> list[int]:
    """Draw `k` different ones of 0, ..., n - 1, in random order; 0 <= k <= n. Takes time and memory of k, not of n.

    The first k steps of Fisher and Yates' shuffle; drawing more for the same key only adds at the end.
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} different ones of {n}")
    moved: dict[int, int] = {}  # place -> what the shuffle has put there
    drawn = []
    for i in range(k):
        place = i + below(n - i, *key, i)
        drawn.append(moved.get(place, place))
        moved[place] = moved.get(i, i)
    return drawn


def shuffled(items: Iterable[T], *key: object) -> list[T]:
    """Return different items in an order that is a function of the key and of each item, not of their order here."""
    return sorted(items, key=lambda item: digest(*key, item))


def permutation(n: int, *key: object) -> NDArray[np.int64]:
    """Return 0, ..., n - 1 in random order, int64[n]: for many numbers, where `shuffled` is too slow."""
    seed = np.frombuffer(digest(*key), dtype="<u4")
    order: NDArray[np.int64] = np.arange(n, dtype=np.int64)
    np.random.RandomState(seed).shuffle(order)
    return order
