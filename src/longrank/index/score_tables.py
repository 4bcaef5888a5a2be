"""Scores known before a search: tables by occurrences and length, and the largest score of each term for BM25.

`prepared` makes the terms of a query ready for `longrank.index.windows`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.index.accumulate import GAINS, bm25_score, dirichlet_gain, dirichlet_score
from longrank.index.arrays import Array
from longrank.index.blocks import BLOCK, PAIRS, PER_BLOCK
from longrank.index.compiling import compiled
from longrank.index.window_terms import TABLE, TABLE_TFS, Terms
from longrank.types import Float32s

_ROUNDED = 1 + 1e-9  # sums of bounds are rounded


class Codes(NamedTuple):
    """Packed postings of the terms of some queries in a segment, see `longrank.index.blocks`.

    Attributes:
        bytes, halves, numbers: the bytes of all postings of the segment as uint8, uint16 and uint32.
        begins: int64[T], first byte of each term.
        dfs: int64[T], postings of each term; 0 for a term that the segment lacks.
    """

    bytes: NDArray[np.uint8]
    halves: NDArray[np.uint16]
    numbers: NDArray[np.uint32]
    begins: NDArray[np.int64]
    dfs: NDArray[np.int64]


class Weights(NamedTuple):
    """Weights of the terms of some queries in a model, one query after another.

    Attributes:
        weights: float32[T], query weight times idf, for BM25; else zeros.
        factors: float64[T, 2], `Terms.factors` for query likelihood; float64[T, 0] for BM25.
        norms: float32[256], result of `similarity.inverse_norms` for the length codes, for BM25; else empty.
        offsets: float64[256], result of `similarity.dirichlet_offsets` for them, for query likelihood; else empty.
        tabled: terms with more postings get a table of scores.
    """

    weights: Float32s
    factors: NDArray[np.float64]
    norms: Float32s
    offsets: NDArray[np.float64]
    tabled: int


@compiled
def prepared(codes: Codes, model: Weights, first: Any, end: Any, skipping: Any) -> Terms:
    """Return the terms ``[first:end]`` of a segment.

    They have ascending bounds if terms may be skipped, else they are in reverse order.
    """
    n = end - first
    bounds = _bounds(codes, model, first, end)
    order = np.argsort(bounds, kind="mergesort") if skipping else np.arange(n)[::-1].copy()
    likely, totals = len(model.offsets) > 0, np.cumsum(bounds[order]) * _ROUNDED
    n_gains = GAINS if likely else 0
    gains, places = np.empty((n, n_gains)), np.full(n, -1)
    places[codes.dfs[first:end][order] > model.tabled] = 0
    tables = np.empty((np.sum(places + 1), TABLE), np.float32)
    factors = model.factors[first:end][order]
    weights = model.weights[first:end][order]
    filled = 0
    for term in range(n):
        for tf in range(n_gains):
            gains[term, tf] = dirichlet_gain(factors[term, 1], tf)
        if places[term] == 0:
            places[term] = filled
            if likely:
                _tabulate_likelihoods(factors[term, 0], gains[term], model.offsets, tables[filled])
            else:
                _tabulate(weights[term], model.norms, tables[filled])
            filled += 1
    cursors = np.zeros((n, 2), np.int64)
    cursors[:, 1] = -1
    docs, tfs = np.empty((n, BLOCK), np.uint32), np.empty((n, BLOCK), np.uint32)
    begins, dfs = codes.begins[first:end][order], codes.dfs[first:end][order]
    numbers = codes.bytes, codes.halves, codes.numbers
    return Terms(*numbers, begins, dfs, weights, factors, gains, totals, tables, places, cursors, docs, tfs)


@compiled
def _bounds(codes: Codes, model: Weights, first: Any, end: Any) -> Any:
    """Return a score for each of the terms ``[first:end]`` that no posting exceeds, float64; zeros for likelihoods."""
    bounds = np.zeros(end - first)
    if len(model.norms):
        for term in range(first, end):
            bounds[term - first] = largest_score(
                codes.bytes, codes.begins[term], codes.dfs[term], model.weights[term], model.norms
            )
    return bounds


@compiled
def _tabulate(weight: Any, norms: Float32s, table: Float32s) -> None:
    """Set ``table[(tf - 1) * 256 + class]`` to the score of BM25."""
    for tf in range(TABLE_TFS):
        for code in range(256):
            table[tf * 256 + code] = bm25_score(weight, tf + 1, norms[code])


@compiled
def largest_score(codes: Array, begin: Any, df: Any, weight: Any, norms: Float32s) -> Any:
    """Return a score that no posting of a term exceeds; `norms` of the 256 length codes."""
    if df <= BLOCK:
        return np.float64(weight) if df else 0.0
    pairs = begin + (df + BLOCK - 1) // BLOCK * PER_BLOCK
    most = np.float32(0)
    for pair in range(PAIRS):
        tf, code = codes[pairs + 2 * pair], codes[pairs + 2 * pair + 1]
        if tf == 255:
            return np.float64(weight)
        most = max(most, bm25_score(weight, tf, norms[code]))
    return np.float64(most)


@compiled
def _tabulate_likelihoods(weight: Any, gains: Array, offsets: Array, table: Float32s) -> None:
    """Set ``table[(tf - 1) * 256 + class]`` to the score of query likelihood."""
    for tf in range(TABLE_TFS):
        for code in range(256):
            table[tf * 256 + code] = dirichlet_score(weight, gains[tf + 1], offsets[code])
