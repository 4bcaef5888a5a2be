"""Compiled loops over sorted lists of byte strings: merge lists, and find the strings of a list in a longer list.

Strings lie one after another in an array of bytes: string i is ``text[bounds[i]:bounds[i + 1]]``. They compare by their
bytes; a string that begins another string is the smaller of the two.
"""

from __future__ import annotations

import numpy as np

from longrank.index.arrays import Array
from longrank.index.compiling import compiled


@compiled
def _compared(  # noqa: PLR0917 - compiled code takes plain values, by position
    text: Array, start: int, stop: int, other: Array, other_start: int, other_stop: int
) -> int:
    """Return -1, 0 or 1: a string is smaller than another string, equal or larger."""
    shared = min(stop - start, other_stop - other_start)
    for i in range(shared):
        a, b = text[start + i], other[other_start + i]
        if a != b:
            return -1 if a < b else 1
    if stop - start == other_stop - other_start:
        return 0
    return -1 if stop - start == shared else 1


@compiled
def merge_runs(text: Array, bounds: Array, order: Array, starts: Array, merged: Array) -> None:
    """Merge each two neighbouring runs of sorted strings; equal strings keep their order.

    Args:
        text, bounds: the strings.
        order: int64[n], strings in runs, each run sorted.
        starts: int64[R + 1], the first place of each run in `order`, and n.
        merged: int64[n], the strings in runs of twice the size; changed.
    """
    for run in range(0, len(starts) - 1, 2):
        a, end_a = starts[run], starts[run + 1]
        b, end_b = end_a, starts[min(run + 2, len(starts) - 1)]
        for place in range(a, end_b):
            if a < end_a and (
                b == end_b
                or _compared(
                    text,
                    bounds[order[a]],
                    bounds[order[a] + 1],
                    text,
                    bounds[order[b]],
                    bounds[order[b] + 1],
                )
                <= 0
            ):
                merged[place] = order[a]
                a += 1
            else:
                merged[place] = order[b]
                b += 1


@compiled
def number_distinct(text: Array, bounds: Array, order: Array, numbers: Array) -> int:
    """Number the distinct strings of a sorted list from 0; return how many there are.

    Args:
        text, bounds: the strings.
        order: int64[n], the strings sorted.
        numbers: int64[n], the number of each string; changed.
    """
    number = -1
    for place in range(len(order)):
        string = order[place]
        before = order[place - 1]
        if (
            place == 0
            or _compared(text, bounds[before], bounds[before + 1], text, bounds[string], bounds[string + 1]) != 0
        ):
            number += 1
        numbers[string] = number
    return number + 1


@compiled
def _first_not_below(  # noqa: PLR0917
    text: Array, bounds: Array, order: Array, low: int, high: int, needle_text: Array, start: int, stop: int
) -> int:
    """Return the first place of ``[low:high]`` in a sorted list whose string is not below a needle; else `high`."""
    while low < high:
        middle = (low + high) // 2
        string = order[middle] if len(order) else middle
        if _compared(text, bounds[string], bounds[string + 1], needle_text, start, stop) < 0:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def find_sorted(  # noqa: PLR0917
    text: Array,
    bounds: Array,
    order: Array,
    needle_text: Array,
    needle_bounds: Array,
    needles: Array,
    places: Array,
    held: Array,
) -> None:
    """Find sorted strings in a sorted list, from each string on in growing steps.

    Args:
        text, bounds: strings of the list.
        order: unsigned[n], the strings sorted; empty if they are sorted as they lie.
        needle_text, needle_bounds: strings to find.
        needles: int64[m], these strings sorted.
        places: int64[m], the number of strings of the list that are smaller than each needle; changed.
        held: bool[m], the list holds the needle; changed.
    """
    n, low = len(bounds) - 1, 0
    for i in range(len(needles)):
        start, stop = needle_bounds[needles[i]], needle_bounds[needles[i] + 1]
        high, step, comparison = low, 1, 1
        while high < n:
            string = order[high] if len(order) else high
            comparison = _compared(text, bounds[string], bounds[string + 1], needle_text, start, stop)
            if comparison >= 0:
                break
            low, high, step = high + 1, high + step, 2 * step
        low = _first_not_below(text, bounds, order, low, min(high, n), needle_text, start, stop)
        places[i], held[i] = low, False
        if low < n:
            string = order[low] if len(order) else low
            held[i] = _compared(text, bounds[string], bounds[string + 1], needle_text, start, stop) == 0


@compiled
def find_terms(  # noqa: PLR0917
    terms: Array,
    bounds: Array,
    starts: Array,
    term_counts: Array,
    needle_text: Array,
    needle_bounds: Array,
    places: Array,
    dfs: Array,
    counts: Array,
) -> None:
    """Find some sorted terms in a segment, and add up their statistics.

    Args:
        terms, bounds: terms of the segment, sorted.
        starts: int64[n + 1], first posting of each term of the segment.
        term_counts: int64[n], occurrences of each term of the segment.
        needle_text, needle_bounds: terms to find, sorted.
        places: int64[m], number of each term in the segment, -1 if the segment lacks the term; changed.
        dfs, counts: int64[m], to which documents and occurrences of each term are added; changed.
    """
    n, low, as_they_lie = len(bounds) - 1, 0, np.empty(0, np.uint32)
    for i in range(len(places)):
        start, stop = needle_bounds[i], needle_bounds[i + 1]
        low = _first_not_below(terms, bounds, as_they_lie, low, n, needle_text, start, stop)
        places[i] = -1
        if low < n and _compared(terms, bounds[low], bounds[low + 1], needle_text, start, stop) == 0:
            places[i] = low
            dfs[i] += starts[low + 1] - starts[low]
            counts[i] += term_counts[low]
