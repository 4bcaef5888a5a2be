# ruff: noqa: PLR0917 - compiled code takes plain arrays, by position
"""Scores known before a search: tables by occurrences and length, and the largest score of each term for BM25."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.index.accumulate import bm25_score, dirichlet_gain, dirichlet_score
from longrank.index.arrays import Array
from longrank.index.blocks import BLOCK, PAIRS, PER_BLOCK
from longrank.index.compiling import compiled
from longrank.index.window_terms import TABLE_TFS
from longrank.types import Float32s


@compiled
def prepare(
    codes: NDArray[np.uint8],
    begins: NDArray[np.int64],
    dfs: NDArray[np.int64],
    weights: Float32s,
    norms: Float32s,
    places: NDArray[np.int64],
    bounds: NDArray[np.float64],
    tables: Float32s,
) -> None:
    """Set the `bounds` and `tables` of terms, see `Terms`; `norms` of the 256 length codes."""
    for term in range(len(dfs)):
        bounds[term] = _bound(codes, begins[term], dfs[term], weights[term], norms)
        if places[term] >= 0:
            _tabulate(weights[term], norms, tables[places[term]])


@compiled
def _tabulate(weight: Any, norms: Float32s, table: Float32s) -> None:
    """Set ``table[(tf - 1) * 256 + class]`` to the score of BM25."""
    for tf in range(TABLE_TFS):
        for code in range(256):
            table[tf * 256 + code] = bm25_score(weight, tf + 1, norms[code])


@compiled
def _bound(codes: Array, begin: Any, df: Any, weight: Any, norms: Float32s) -> Any:
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
def prepare_likelihoods(
    factors: NDArray[np.float64],
    offsets: NDArray[np.float64],
    places: NDArray[np.int64],
    gains: NDArray[np.float64],
    tables: Float32s,
) -> None:
    """Set the `gains` and `tables` of terms, see `Terms`; `offsets` of the 256 length codes."""
    for term in range(len(factors)):
        for tf in range(gains.shape[1]):
            gains[term, tf] = dirichlet_gain(factors[term, 1], tf)
        if places[term] >= 0:
            _tabulate_likelihoods(factors[term, 0], gains[term], offsets, tables[places[term]])


@compiled
def _tabulate_likelihoods(weight: Any, gains: Array, offsets: Array, table: Float32s) -> None:
    """Set ``table[(tf - 1) * 256 + class]`` to the score of query likelihood."""
    for tf in range(TABLE_TFS):
        for code in range(256):
            table[tf * 256 + code] = dirichlet_score(weight, gains[tf + 1], offsets[code])
