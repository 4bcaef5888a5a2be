# ruff: noqa: PLR0917 - compiled code takes plain arrays, by position
"""Compiled search of packed postings in windows of documents, with the best k kept while scores are added up.

In a window, the scores of the terms are added to one sum per document, and the sums that may be among the best k are
looked up: among all sums, or, where the terms have few postings, among those of the documents that were met. Where
terms may be skipped (MaxScore), the terms with the largest bounds are added first. The other terms are looked up in the
documents whose sums can still reach the best k, or added like the first, whatever touches fewer postings. Sums are
float64 and begin at -0.0, as in `longrank.index.accumulate`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.index.arrays import Array
from longrank.index.compiling import compiled, compiled_lean
from longrank.index.score_tables import Codes, Weights, prepared
from longrank.index.window_best import Best, emptied, least_sum, push, raise_floor
from longrank.index.window_terms import Docs, Terms, add_listed, add_term, look_up, n_postings, next_document

WINDOW = 1 << 16  # documents; their sums fit the second-level cache
GROUP = 32  # sums tested together
SPARSE = 16  # documents for each posting of a query, from which on the documents that are met are listed
_FIRST = 16  # the first window is smaller by this factor: a bound is known early
_LOOKUP = 150  # postings that are added in the time of a lookup
_SLACK = 1e-9  # of sums that are rounded
_U = np.uint64


class Scratch(NamedTuple):
    """Arrays for searching: some of a thread, and some of each of Q queries, see `Best`.

    Attributes:
        sums: float64[W], all -0.0 between searches; W, a multiple of `GROUP`, is the size of the windows.
        places: uint32[W + GROUP].
        met: uint32[W].
        keys: uint64[Q, n], n above k + W.
        docs: int64[Q, n].
        states: int64[Q, 2], all 0 between searches.
        floors: uint64[Q], all 0 between searches.
        counts: int32[Q, BUCKETS], all 0 between searches.
    """

    sums: NDArray[np.float64]
    places: NDArray[np.uint32]
    met: NDArray[np.uint32]
    keys: NDArray[np.uint64]
    docs: NDArray[np.int64]
    states: NDArray[np.int64]
    floors: NDArray[np.uint64]
    counts: NDArray[np.int32]


@compiled
def search_all(
    codes: Codes,
    model: Weights,
    bounds: NDArray[np.int64],
    skipping: NDArray[np.bool_],
    docs: Docs,
    scratch: Scratch,
    descending: Any,
    keys: NDArray[np.uint64],
    slots: NDArray[np.int64],
    found: NDArray[np.int64],
    last: Any,
) -> None:
    """Search a segment for Q queries.

    Args:
        codes: postings of the terms of all queries.
        model: their weights.
        bounds: int64[Q + 1], first term of each query.
        skipping: bool[Q], terms may be skipped: the sums of their scores are exact in any order.
        docs: the documents of the segment.
        scratch: keeps the best documents of the segments so far.
        descending: True: the larger rank comes first among equal scores.
        keys: uint64[Q, k], set to the keys of the best documents, in any order, by the last segment.
        slots: int64[Q, k], set to the slots of these documents.
        found: int64[Q], set to the number of these documents.
        last: True for the last segment.
    """
    k, floors = slots.shape[1], scratch.floors
    for query in range(len(skipping)):
        kept, state = (scratch.keys[query], scratch.docs[query]), scratch.states[query]
        best = Best(k, descending, *kept, state, floors[query : query + 1], scratch.counts[query])
        terms = prepared(codes, model, bounds[query], bounds[query + 1], skipping[query])
        search(terms, docs, best, skipping[query], scratch.sums, scratch.places, scratch.met)
        if last:
            found[query] = emptied(best, keys[query], slots[query])


@compiled_lean
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
def _among(bits: Array, low: Any, met: Array, places: Array) -> Any:
    """List the places of `met` whose bits are not below `low`, ascending, and return their number."""
    n = 0
    for i in range(len(met)):
        places[n] = met[i]
        n += bits[met[i]] >= low
    places[:n].sort()
    return n


@compiled_lean
def _bits(value: Any) -> Any:
    return np.float64(value).view(np.int64)


@compiled_lean
def search(
    terms: Terms, docs: Docs, best: Best, skipping: Any, sums: NDArray[np.float64], places: Array, met: Array
) -> None:
    """Search a segment.

    Args:
        terms: terms, in the order of adding up; if terms may be skipped, with ascending bounds.
        docs: the documents of the segment.
        best: the best documents so far, changed.
        skipping: terms may be skipped: the sums of their scores are exact in any order.
        sums: float64[W], all -0.0, and again afterwards; W, a multiple of `GROUP`, is the size of the windows.
        places: uint32[W + GROUP].
        met: uint32[W].
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
        n, more, listed = _candidates(terms, docs, base, end, least, totals, few, more, bits[:size], sums, places, met)
        push(best, sums, base, places, n, docs)
        raise_floor(best)
        if listed < 0:
            sums[:size] = -0.0
        else:
            for i in range(listed):
                sums[met[i]] = -0.0
        base, width = end, min(2 * width, len(sums))


@compiled_lean
def _first(terms: Terms, few: Any, base: Any, n_docs: Any, window: Any) -> Any:
    """Return a document; from `base` to it, no term from `few` on has a document; `n_docs`: there are no more."""
    first = n_docs
    for term in range(few, len(terms.dfs)):
        found = next_document(terms, term, base, window)
        if found >= 0:
            first = min(first, found)
    return first


@compiled_lean
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
    met: Array,
) -> Any:
    """Add up a window.

    Returns:
        (The number of documents that may be among the best; how many of the first `few` terms to add next time; the
        number of documents in `met`, if all that were met are there, else -1).
    """
    low, at, added = least * (1 - _SLACK), len(terms.dfs), max(few - more, 0)
    listed = np.int64(0)
    while True:
        if terms.dfs[added:].sum() * SPARSE > len(docs.classes):
            listed = np.int64(-1)
        while at > added:
            at -= 1
            if listed < 0:
                add_term(terms, at, base, end, docs, sums)
            else:
                listed = add_listed(terms, at, base, end, docs, sums, met, listed)
        needed = _bits(max(low - totals[at - 1], 0.0) if at else least)
        n = _scan(bits, needed, places) if listed < 0 else _among(bits, needed, met[:listed], places)
        if at == 0 or n == 0 or n * _LOOKUP < n_postings(terms, at - 1, base, end):
            break
        added = at - 1
    more = few - added
    if more > 0 and n * _LOOKUP * 4 < n_postings(terms, at, base, end):
        more -= 1
    while at > 0 and n > 0:
        at -= 1
        n = look_up(terms, at, base, docs, sums, places, n, low - totals[at - 1] if at else least)
    return n, more, listed
