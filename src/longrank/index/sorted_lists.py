"""Union of several sorted lists of byte strings, without reading the longest list as a whole.

The terms of an index with several segments are such a union, and so are its ids. The shorter lists are merged, and
their strings are looked up in the longest list.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol, overload

import numpy as np
from numpy.typing import NDArray

from longrank.index.arrays import Packed

_BLOCK = 256

Int64s = NDArray[np.int64]


class SortedStrings(Protocol):
    """A sorted list of distinct byte strings."""

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: int) -> bytes: ...
    @overload
    def __getitem__(self, key: slice) -> list[bytes]: ...


class Packable(Protocol):
    """A sorted list of distinct strings in arrays."""

    def __len__(self) -> int: ...
    @property
    def packed(self) -> Packed:
        """The strings and their order."""
        ...


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


def united(lists: Sequence[Packable]) -> Union:
    """Number the strings of all lists together, in sorted order; at least one list."""
    from longrank.index.sorted_merging import find_sorted, number_distinct  # compiled code takes time to load

    longest = max(range(len(lists)), key=lambda i: len(lists[i]))
    n, strings = len(lists[longest]), lists[longest].packed
    shorter = [some for i, some in enumerate(lists) if i != longest]
    ends = np.cumsum([0, *map(len, shorter)])
    others = _joined([some.packed for some in shorter])
    order = _merged(others, ends)
    numbers = np.empty_like(order)
    n_distinct = int(number_distinct(others.text, others.bounds, order, numbers))
    needles = order[np.flatnonzero(np.diff(numbers[order], prepend=-1))]
    places, held = np.empty(n_distinct, np.int64), np.empty(n_distinct, np.bool_)
    find_sorted(*strings, others.text, others.bounds, needles, places, held)
    lacking = places[~held]

    def numbered(places: Int64s) -> Int64s:
        """Return the numbers of strings of the longest list."""
        return places + np.searchsorted(lacking, places, side="right")

    of_distinct = np.empty(n_distinct, np.int64)
    of_distinct[held] = numbered(places[held])
    of_distinct[~held] = lacking + np.arange(len(lacking))
    parts = [of_distinct[numbers[others.order[a:b]]] for a, b in pairwise(ends.tolist())]
    parts.insert(longest, numbered(np.arange(n)))
    return Union(n + len(lacking), parts)


def _joined(lists: Sequence[Packed]) -> Packed:
    """Return the strings of all lists; the order is that of each list, one list after another."""
    text = np.concatenate([np.empty(0, np.uint8), *(some.text for some in lists)])
    sizes = np.concatenate([np.empty(0, np.int64), *(np.diff(some.bounds) for some in lists)])
    order, base = [np.empty(0, np.int64)], 0
    for some in lists:
        n = len(some.bounds) - 1
        order.append(base + (some.order.astype(np.int64) if len(some.order) else np.arange(n)))
        base += n
    return Packed(text, np.concatenate(([0], np.cumsum(sizes))), np.concatenate(order))


def _merged(strings: Packed, ends: Int64s) -> Int64s:
    """Return the strings sorted; each list is sorted already, and `ends` are the bounds of the lists, from 0."""
    from longrank.index.sorted_merging import merge_runs

    order = strings.order
    while len(ends) > 2:
        merged = np.empty_like(order)
        merge_runs(strings.text, strings.bounds, order, ends, merged)
        order, ends = merged, np.append(ends[:-1:2], ends[-1])
    return order
