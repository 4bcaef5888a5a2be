"""Java's random numbers and the order of its HashMap, which decide results of Anserini."""

from __future__ import annotations

from collections.abc import Iterator

_MULTIPLIER, _INCREMENT, _BITS = 0x5DEECE66D, 0xB, 48
_INT = 2**31


def random_ints(seed: int, bound: int) -> Iterator[int]:
    """Yield the values of ``new Random(seed).nextInt(bound)`` (java.util.Random, JDK 17).

    Args:
        seed: any number.
        bound: upper bound, exclusive; 1 to 2**31 - 1.
    """
    mask = 2**_BITS - 1
    state = (seed ^ _MULTIPLIER) & mask
    while True:
        state = (state * _MULTIPLIER + _INCREMENT) & mask
        bits = state >> (_BITS - 31)
        if bound & -bound == bound:
            yield bits * bound // _INT
        elif bits - bits % bound + bound <= _INT:  # otherwise some numbers would be more likely
            yield bits % bound


def hash_of(text: str) -> int:
    """Return the hash code of a string of one-unit characters, as java.util.HashMap spreads it; 32 bits."""
    code = 0
    for character in text:
        code = (31 * code + ord(character)) & (2**32 - 1)
    return code ^ code >> 16


def table_size(n: int) -> int:
    """Return the number of buckets of a HashMap after `n` single additions: at most 3/4 of them are filled."""
    size = 16
    while n * 4 > size * 3:
        size *= 2
    return size
