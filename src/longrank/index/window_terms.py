# ruff: noqa: PLR0917 - compiled code takes plain arrays, by position
"""Terms of a query in packed postings: their scores added to the sums of a window, or looked up for some documents."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.index.accumulate import bm25_score, dirichlet_gain, dirichlet_score
from longrank.index.arrays import Array
from longrank.index.blocks import BLOCK, decode_block
from longrank.index.compiling import compiled_lean
from longrank.types import Float32s

TABLE_TFS = 16  # tfs of a table of scores
TABLE = TABLE_TFS * 256
_TABLE_BITS = 4
_U = np.uint64


class Terms(NamedTuple):
    """Terms of a query in a segment.

    Attributes:
        codes, halves, numbers: the bytes of all packed postings as uint8, uint16 and uint32.
        begins: int64[T], first byte of each term.
        dfs: int64[T], postings of each term; 0 for a term that the segment lacks.
        weights: float32[T], query weight times idf, for BM25.
        factors: float64[T, 2], query weight and 1 / (mu * p(t)), for query likelihood.
        gains: float64[T, n], `dirichlet_gain` of tfs below n; n is 0 for BM25.
        totals: float64[T], scores that no document reaches with the terms up to each.
        tables: float32[n, TABLE], scores of some terms.
        places: int64[T], place of each term in `tables`; -1: none.
        cursors: int64[T, 2]: the first block that may still be needed, and the decoded block, -1: none.
        docs, tfs: uint32[T, BLOCK], the decoded block.
    """

    codes: NDArray[np.uint8]
    halves: NDArray[np.uint16]
    numbers: NDArray[np.uint32]
    begins: NDArray[np.int64]
    dfs: NDArray[np.int64]
    weights: Float32s
    factors: NDArray[np.float64]
    gains: NDArray[np.float64]
    totals: NDArray[np.float64]
    tables: Float32s
    places: NDArray[np.int64]
    cursors: NDArray[np.int64]
    docs: NDArray[np.uint32]
    tfs: NDArray[np.uint32]


class Docs(NamedTuple):
    """Documents of a segment.

    Attributes:
        slot: the slot of the first document.
        classes: unsigned[D], place of each document's norm in `norms`.
        norms: result of `similarity.inverse_norms` for each class, for BM25.
        offsets: result of `similarity.dirichlet_offsets` for each class, for query likelihood.
        ranks: uint32[D], places of the documents in sorted ids.
        excluded: bool[D], documents that are not searched for; empty if there are none.
    """

    slot: int
    classes: Array
    norms: Float32s
    offsets: NDArray[np.float64]
    ranks: NDArray[np.uint32]
    excluded: NDArray[np.bool_]


@compiled_lean
def _add_codes(
    codes: Array, place: Any, n: Any, tf_bits: Any, first: Any, classes: Array, table: Array, sums: Array
) -> None:
    """Add the scores of a block of `n` codes; `classes` and `sums` begin with the window, as `first` does."""
    mask, shift, doc = (_U(1) << _U(tf_bits)) - _U(1), _U(tf_bits), _U(first)
    for i in range(_U(place), _U(place + n)):
        code = _U(codes[i])
        doc += code >> shift
        sums[doc] += table[(code & mask) << _U(8) | _U(classes[doc])]
        doc += _U(1)


@compiled_lean
def _add_postings(docs: Array, tfs: Array, base: Any, classes: Array, weight: Any, norms: Array, sums: Array) -> None:
    for i in range(_U(len(docs))):
        doc = _U(docs[i]) - base
        sums[doc] += bm25_score(weight, tfs[i], norms[classes[doc]])


@compiled_lean
def _add_likelihoods(
    docs: Array, tfs: Array, base: Any, classes: Array, factors: Array, gains: Array, offsets: Array, sums: Array
) -> None:
    for i in range(_U(len(docs))):
        doc, tf = _U(docs[i]) - base, np.int64(tfs[i])
        gain = gains[tf] if tf < len(gains) else dirichlet_gain(factors[1], tf)
        sums[doc] += dirichlet_score(factors[0], gain, offsets[classes[doc]])


@compiled_lean
def _lower(values: Array, start: Any, stop: Any, wanted: Any) -> Any:
    """Return the first place in ``values[start:stop]`` of a value not below `wanted`."""
    while start < stop:
        middle = (start + stop) >> 1
        if values[middle] < wanted:
            start = middle + 1
        else:
            stop = middle
    return start


@compiled_lean
def _gallop(values: Array, start: Any, stop: Any, wanted: Any) -> Any:
    """Return the same as `_lower`; fast if it is near `start`."""
    step, high = 1, start
    while high < stop and values[high] < wanted:
        start = high + 1
        high += step
        step <<= 1
    return _lower(values, start, min(high, stop), wanted)


@compiled_lean
def _load(terms: Terms, term: Any, block: Any) -> Any:
    """Decode a block of a term, unless it is decoded; return its number of postings."""
    n = min(terms.dfs[term] - block * BLOCK, BLOCK)
    if terms.cursors[term, 1] != block:
        terms.cursors[term, 1] = block
        begin, n_blocks = terms.begins[term], (terms.dfs[term] + BLOCK - 1) // BLOCK
        kind, place, first = begin, begin + 2, np.int64(0)
        if n_blocks > 1:
            number = (begin >> 2) + block
            kind += 8 * n_blocks + 2 * block
            place = begin + np.int64(terms.numbers[number + n_blocks])
            if block:
                first = np.int64(terms.numbers[number - 1]) + 1
        codes = terms.codes
        decode_block(codes[place:], codes[kind], codes[kind + 1], first, terms.docs[term, :n], terms.tfs[term, :n])
    return n


@compiled_lean
def add_term(terms: Terms, term: Any, base: Any, end: Any, docs: Docs, sums: Array) -> None:
    """Add the scores of a term's postings in the documents ``[base:end]``; `sums` begins with `base`."""
    df, begin, classes = terms.dfs[term], terms.begins[term], docs.classes[base:end]
    n_blocks, block, number = (df + BLOCK - 1) // BLOCK, terms.cursors[term, 0], begin >> 2
    if n_blocks > 1:
        block = _gallop(terms.numbers, number + block, number + n_blocks, base) - number
    while block < n_blocks:
        if terms.places[term] >= 0:
            table = terms.tables[terms.places[term]]
            block = _add_whole(
                terms.codes, terms.halves, terms.numbers, begin, df, block, base, end, classes, table, sums
            )
        first = np.int64(terms.numbers[number + block - 1]) + 1 if block else 0
        if block == n_blocks or first >= end:
            break
        n = _load(terms, term, block)
        start = _lower(terms.docs[term], 0, n, base)
        stop = _lower(terms.docs[term], start, n, end)
        some, tfs = terms.docs[term, start:stop], terms.tfs[term, start:stop]
        if terms.gains.shape[1]:
            _add_likelihoods(some, tfs, _U(base), classes, terms.factors[term], terms.gains[term], docs.offsets, sums)
        else:
            _add_postings(some, tfs, _U(base), classes, terms.weights[term], docs.norms, sums)
        if stop < n:
            break
        block += 1
    terms.cursors[term, 0] = block


@compiled_lean
def _add_whole(
    codes: Array,
    halves: Array,
    numbers: Array,
    begin: Any,
    df: Any,
    block: Any,
    base: Any,
    end: Any,
    classes: Array,
    table: Array,
    sums: Array,
) -> Any:
    """Add blocks of a term of several blocks by its table of scores.

    Returns:
        The first block that was not added: it is not inside the window, or its codes are too large.
    """
    n_blocks, number = (df + BLOCK - 1) // BLOCK, begin >> 2
    first = np.int64(numbers[number + block - 1]) + 1 if block else 0
    while block < n_blocks and first >= base:
        last, kind = np.int64(numbers[number + block]), begin + 8 * n_blocks + 2 * block
        n_bytes, tf_bits = codes[kind], codes[kind + 1]
        if last >= end or tf_bits > _TABLE_BITS or n_bytes > 2:
            break
        n, place = min(df - block * BLOCK, BLOCK), begin + np.int64(numbers[number + n_blocks + block])
        if n_bytes == 1:
            _add_codes(codes, place, n, tf_bits, first - base, classes, table, sums)
        else:
            _add_codes(halves, place >> 1, n, tf_bits, first - base, classes, table, sums)
        block += 1
        first = last + 1
    return block


@compiled_lean
def _score(terms: Terms, term: Any, tf: Any, docs: Docs, length: Any) -> Any:
    """Return the score of a posting in a document of a class of lengths."""
    if not terms.gains.shape[1]:
        return np.float64(bm25_score(terms.weights[term], tf, docs.norms[length]))
    n = np.int64(tf)
    gain = terms.gains[term, n] if n < terms.gains.shape[1] else dirichlet_gain(terms.factors[term, 1], n)
    return np.float64(dirichlet_score(terms.factors[term, 0], gain, docs.offsets[length]))


@compiled_lean
def add_listed(terms: Terms, term: Any, base: Any, end: Any, docs: Docs, sums: Array, met: Array, n: Any) -> Any:
    """Add as `add_term`; append places of documents met for the first time to `met`, which has `n`; return how many."""
    df, number = terms.dfs[term], terms.begins[term] >> 2
    n_blocks, block = (df + BLOCK - 1) // BLOCK, terms.cursors[term, 0]
    if n_blocks > 1:
        block = _gallop(terms.numbers, number + block, number + n_blocks, base) - number
    while block < n_blocks:
        size = _load(terms, term, block)
        place = _lower(terms.docs[term], 0, size, base)
        while place < size and terms.docs[term, place] < end:
            doc = np.int64(terms.docs[term, place])
            if np.signbit(sums[doc - base]):  # a sum of a document that was met is not negative
                met[n] = doc - base
                n += 1
            sums[doc - base] += _score(terms, term, terms.tfs[term, place], docs, docs.classes[doc])
            place += 1
        if place < size:
            break
        block += 1
    terms.cursors[term, 0] = block
    return n


@compiled_lean
def n_postings(terms: Terms, term: Any, base: Any, end: Any) -> Any:
    """Return about how many postings a term has in the documents ``[base:end]``."""
    n_blocks, number = (terms.dfs[term] + BLOCK - 1) // BLOCK, terms.begins[term] >> 2
    if n_blocks <= 1:
        return terms.dfs[term]
    start = _gallop(terms.numbers, number + terms.cursors[term, 0], number + n_blocks, base)
    terms.cursors[term, 0] = start - number
    return BLOCK * (_gallop(terms.numbers, start, number + n_blocks, end) - start + 1)


@compiled_lean
def next_document(terms: Terms, term: Any, base: Any, window: Any) -> Any:
    """Return a document below which a term has none from `base` on; -1: it has no more."""
    n_blocks, number = (terms.dfs[term] + BLOCK - 1) // BLOCK, terms.begins[term] >> 2
    block = terms.cursors[term, 0]
    if n_blocks > 1:
        block = _gallop(terms.numbers, number + block, number + n_blocks, base) - number
        terms.cursors[term, 0] = block
    if block == n_blocks:
        return -1
    if n_blocks > 1:
        first = max(np.int64(terms.numbers[number + block - 1]) + 1 if block else 0, base)
        if np.int64(terms.numbers[number + block]) - first < window:  # decoding it would save little
            return first
    n = _load(terms, term, block)
    place = _lower(terms.docs[term], 0, n, base)
    return np.int64(terms.docs[term, place]) if place < n else -1


@compiled_lean
def look_up(terms: Terms, term: Any, base: Any, docs: Docs, sums: Array, places: Array, n: Any, needed: Any) -> Any:
    """Add a term to the first `n` documents of `places`; keep those with a sum of `needed`, and return their number."""
    n_blocks, number = (terms.dfs[term] + BLOCK - 1) // BLOCK, terms.begins[term] >> 2
    block, kept, weight = terms.cursors[term, 0], 0, terms.weights[term]
    for i in range(n):
        place = np.int64(places[i])
        doc = base + place
        if n_blocks > 1:
            block = _gallop(terms.numbers, number + block, number + n_blocks, doc) - number
        if block < n_blocks:
            size = _load(terms, term, block)
            at = _lower(terms.docs[term], 0, size, doc)
            if at < size and terms.docs[term, at] == doc:
                sums[place] += bm25_score(weight, terms.tfs[term, at], docs.norms[docs.classes[doc]])
        places[kept] = place
        kept += sums[place] >= needed
    terms.cursors[term, 0] = block
    return kept
