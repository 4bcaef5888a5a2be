# ruff: noqa: PLR0917 - compiled code takes plain arrays, by position
"""Compiled search of packed postings in windows of documents, with the best k kept while scores are added up.

In a window, the scores of the terms are added to one sum per document, and the sums that may be among the best k are
looked up. Where terms may be skipped (MaxScore), the terms with the largest bounds are added first. The other terms are
looked up in the documents whose sums can still reach the best k, or added like the first, whatever touches fewer
postings. Sums are float64 and begin at -0.0, as in `longrank.index.accumulate`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.index.arrays import Array
from longrank.index.compiling import compiled
from longrank.index.window_best import Best, least_sum, push, raise_floor
from longrank.index.window_terms import Docs, Terms, add_term, look_up, n_postings, next_document

WINDOW = 1 << 16  # documents; their sums fit the second-level cache
GROUP = 32  # sums tested together
_FIRST = 16  # the first window is smaller by this factor: a bound is known early
_LOOKUP = 150  # postings that are added in the time of a lookup
_SLACK = 1e-9  # of sums that are rounded
_U = np.uint64


@compiled
def _scan(bits: Array, low: Any, places: Array) -> Any:
    """List the places of the bits that are not below `low`, and return their number; groups of `GROUP` bits."""
    groups, n = bits.reshape((len(bits) // GROUP, GROUP)), 0
    for group in range(_U(len(groups))):
        hits = np.int64(0)
        for i in range(_U(GROUP)):
            hits |= np.int64(groups[group, i] >= low)
        if hits:
            for i in range(_U(GROUP)):
                places[n] = group * _U(GROUP) + i
                n += groups[group, i] >= low
    return n


@compiled
def _bits(value: Any) -> Any:
    values = np.empty(1, np.float64)
    values[0] = value
    return values.view(np.int64)[0]


@compiled
def search(terms: Terms, docs: Docs, best: Best, skipping: Any, sums: NDArray[np.float64], places: Array) -> None:
    """Search a segment.

    Args:
        terms: terms, in the order of adding up; if terms may be skipped, with ascending bounds.
        docs: the documents of the segment.
        best: the best documents so far, changed.
        skipping: terms may be skipped: the sums of their scores are exact in any order.
        sums: float64[W], all -0.0, and again afterwards; W, a multiple of `GROUP`, is the size of the windows.
        places: uint32[W + GROUP].
    """
    n_terms, n_docs = len(terms.dfs), len(docs.classes)
    bits, totals = sums.view(np.int64), terms.totals
    base, few, more = np.int64(0), np.int64(0), np.int64(0)  # not literals, for which callees are compiled again
    width = max(len(sums) // _FIRST, GROUP)
    while base < n_docs:
        least = least_sum(best)
        if skipping:
            while few < n_terms and totals[few] < least * (1 - _SLACK):
                few += 1
            if few == n_terms:
                break
        base = _first(terms, few, base, n_docs, len(sums))
        end = min(base + width, n_docs)
        if base == end:
            break
        size = (end - base + GROUP - 1) // GROUP * GROUP
        n, more = _candidates(terms, docs, base, end, least, totals, few, more, bits[:size], sums, places)
        push(best, sums, base, places, n, docs)
        raise_floor(best)
        sums[:size] = -0.0
        base, width = end, min(2 * width, len(sums))


@compiled
def _first(terms: Terms, few: Any, base: Any, n_docs: Any, window: Any) -> Any:
    """Return a document; from `base` to it, no term from `few` on has a document; `n_docs`: there are no more."""
    first = n_docs
    for term in range(few, len(terms.dfs)):
        found = next_document(terms, term, base, window)
        if found >= 0:
            first = min(first, found)
    return first


@compiled
def _candidates(
    terms: Terms,
    docs: Docs,
    base: Any,
    end: Any,
    least: Any,
    totals: Array,
    few: Any,
    more: Any,
    bits: Array,
    sums: Array,
    places: Array,
) -> Any:
    """Add up a window.

    Returns:
        (The number of documents that may be among the best; how many of the first `few` terms to add next time).
    """
    low, at, added = least * (1 - _SLACK), len(terms.dfs), max(few - more, 0)
    while True:
        while at > added:
            at -= 1
            add_term(terms, at, base, end, docs, sums)
        n = _scan(bits, _bits(max(low - totals[at - 1], 0.0) if at else least), places)
        if at == 0 or n == 0 or n * _LOOKUP < n_postings(terms, at - 1, base, end):
            break
        added = at - 1
    more = few - added
    if more > 0 and n * _LOOKUP * 4 < n_postings(terms, at, base, end):
        more -= 1
    while at > 0 and n > 0:
        at -= 1
        n = look_up(terms, at, base, docs, sums, places, n, low - totals[at - 1] if at else least)
    return n, more
