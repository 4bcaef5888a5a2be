"""BM25 and query likelihood as Lucene >= 8 computes them, with k1, b and mu chosen at query time.

    idf(t)      = ln(1 + (N - df + 0.5) / (df + 0.5))
    score(t, d) = w * idf * tf / (tf + k1 * (1 - b + b * dl / avgdl))

N counts documents with at least one term, and there is no factor (k1 + 1). Lucene keeps dl in one
byte: lengths to 40 exactly, longer ones with the leading 4 bits of dl - 24 (SmallFloat.intToByte4).

    p(t)        = (cf + 1) / (terms of the collection + 1)
    score(t, d) = max(0, w * (ln(1 + tf / (mu * p(t))) + ln(mu / (dl + mu))))

BM25 is computed in single precision, query likelihood in double and then rounded. The loops over
postings are in `accumulate`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from longrank.types import Float32s

_EXACT = 24  # smaller lengths are their own codes; a larger length is coded as a small float of the excess


def _decoded(code: int) -> int:
    """Return the length of a code: 3 bits after a hidden leading bit, times a power of two."""
    if code < _EXACT:
        return code
    bits, shift = (code - _EXACT) & 7, (code - _EXACT) >> 3
    return _EXACT + (bits if shift == 0 else (bits | 8) << (shift - 1))


LENGTHS: NDArray[np.int64] = np.array([_decoded(code) for code in range(256)])
"""The 256 lengths of Lucene's codes, ascending."""


def length_codes(lengths: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Return the one-byte code of each length: the code of the largest of `LENGTHS` not above it."""
    return (np.searchsorted(LENGTHS, lengths, side="right") - 1).astype(np.uint8)


def idf(df: int, n_docs: int) -> np.float32:
    """Return the inverse document frequency; positive for every 0 <= df <= n_docs."""
    return np.float32(math.log(1 + (n_docs - df + 0.5) / (df + 0.5)))


def inverse_norms(lengths: NDArray[np.integer], avgdl: float, k1: float, b: float) -> Float32s:
    """Return 1 / (k1 * (1 - b + b * dl / avgdl)) for each length, infinite if the denominator is 0."""
    k1_, b_, one = np.float32(k1), np.float32(b), np.float32(1)
    with np.errstate(divide="ignore", over="ignore"):
        return one / (k1_ * ((one - b_) + b_ * lengths.astype(np.float32) / np.float32(avgdl)))


def idfs(dfs: NDArray[np.int64], n_docs: int) -> Float32s:
    """Return the `idf` of several terms, float32[T]."""
    return np.array([idf(df, n_docs) for df in dfs.tolist()], np.float32)


def collection_probabilities(counts: NDArray[np.int64], total_terms: int) -> NDArray[np.float64]:
    """Return p(t) of terms with these counts; as in Lucene, each count is increased by 1."""
    return (counts.astype(np.float64) + 1) / (total_terms + 1)


def dirichlet_offsets(lengths: NDArray[np.integer], mu: float) -> NDArray[np.float64]:
    """Return ln(mu / (dl + mu)) for each length, at most 0."""
    offsets: NDArray[np.float64] = np.log(mu / (lengths + mu))
    return offsets
