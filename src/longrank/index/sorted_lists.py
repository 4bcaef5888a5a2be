"""Union of several sorted lists of byte strings, without reading the longest list as a whole.

The terms of an index with several segments are such a union, and so are its ids. Strings of the shorter lists are
looked up in the longest list through a sample of it; only blocks that may hold them are read.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, overload

import numpy as np
from numpy.typing import NDArray

_BLOCK = 256


class SortedStrings(Protocol):
    """A sorted list of distinct byte strings."""

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: int) -> bytes: ...
    @overload
    def __getitem__(self, key: slice) -> list[bytes]: ...


@dataclass(frozen=True)
class Union:
    """Sorted distinct strings of several lists, numbered from 0.

    Attributes:
        size: number of distinct strings.
        numbers: int64 per list: the number of each of its strings, ascending.
    """

    size: int
    numbers: list[NDArray[np.int64]]

    @cached_property
    def homes(self) -> NDArray[np.uint16]:
        """The position of a list that holds each string, uint16[size]."""
        homes = np.empty(self.size, np.uint16)
        for i, numbers in enumerate(self.numbers):
            homes[numbers] = i
        return homes


def places_in(strings: SortedStrings, needles: Sequence[bytes]) -> Iterator[tuple[int, bool]]:
    """Yield, for each of some sorted strings, its place in a sorted list, and whether the list holds it.

    The place of a missing string is the number of smaller strings in the list.
    """
    sample = [strings[i] for i in range(0, len(strings), _BLOCK)]
    loaded, block = -1, list[bytes]()
    for needle in needles:
        number = max(bisect_right(sample, needle) - 1, 0)
        if number != loaded:
            loaded, block = number, strings[number * _BLOCK : (number + 1) * _BLOCK]
        place = bisect_left(block, needle)
        yield number * _BLOCK + place, place < len(block) and block[place] == needle


def united(lists: Sequence[SortedStrings]) -> Union:
    """Number the strings of all lists together, in sorted order."""
    longest = max(range(len(lists)), key=lambda i: len(lists[i]))
    new: dict[bytes, int] = {}  # string that the longest list lacks -> its place there
    found: dict[int, tuple[list[bytes], list[int]]] = {}
    for i, strings in enumerate(lists):
        if i != longest:
            needles = strings[:]
            places = list(places_in(lists[longest], needles))
            new.update((needle, place) for needle, (place, held) in zip(needles, places, strict=True) if not held)
            found[i] = needles, [place for place, _ in places]
    ordered = sorted(new)
    new_places = np.array([new[string] for string in ordered], np.int64)
    new_numbers = dict(zip(ordered, (new_places + np.arange(len(ordered))).tolist(), strict=True))

    def numbered(places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of strings of the longest list."""
        return places + np.searchsorted(new_places, places, side="right")

    numbers = [numbered(np.arange(len(lists[longest]))) for _ in lists[:1]] * len(lists)
    for i, (needles, held_places) in found.items():
        of_held = numbered(np.array(held_places, np.int64)).tolist()
        mixed = (new_numbers.get(string, number) for string, number in zip(needles, of_held, strict=True))
        numbers[i] = np.fromiter(mixed, np.int64, len(needles))
    return Union(len(lists[longest]) + len(ordered), numbers)
