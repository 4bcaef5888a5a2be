"""What Java's library decides in Anserini: random numbers, and the order in which a HashMap is read."""

from __future__ import annotations

from collections.abc import Iterator

_MULTIPLIER, _INCREMENT, _BITS = 0x5DEECE66D, 0xB, 48
_INT = 2**31


def random_ints(seed: int, bound: int) -> Iterator[int]:
    """Yield what ``new Random(seed).nextInt(bound)`` returns, again and again (java.util.Random, JDK 17).

    Args:
        seed: any number.
        bound: 1 to 2**31 - 1; numbers are below it.
    """
    mask = 2**_BITS - 1
    state = (seed ^ _MULTIPLIER) & mask
    while True:
        state = (state * _MULTIPLIER + _INCREMENT) & mask
        bits = state >> (_BITS - 31)
        if bound & -bound == bound:
            yield bits * bound // _INT
        elif bits - bits % bound + bound <= _INT:  # else some numbers would be likelier than others
            yield bits % bound


def hash_of(text: str) -> int:
    """Return the hash code of a string of one-unit characters, as java.util.HashMap spreads it; 32 bits."""
    code = 0
    for character in text:
        code = (31 * code + ord(character)) & (2**32 - 1)
    return code ^ code >> 16


def table_size(n: int) -> int:
    """Return how many buckets a HashMap has to which `n` keys were added one by one: at most 3/4 of it is filled."""
    size = 16
    while n * 4 > size * 3:
        size *= 2
    return size
