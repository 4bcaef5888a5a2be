"""Documents whose stored passages are closest to a query's vector: exact search over memory-mapped vectors.

A fast product finds the score of every passage up to rounding. The documents that can be among the best k by the bound
of that rounding are scored again, row by row, as a bi-encoder scores passages. So the result does not depend on blocks,
threads or the library of the product.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longrank.index.vectors import PassageVectors
from longrank.scoring.vectors import cosines
from longrank.types import Float32s

_ROWS = 1 << 14
"""Vectors per block of the product; 24 MiB of 384 dimensions."""


def best_documents(
    stored: PassageVectors,
    query: Float32s,
    ranks: NDArray[np.uint32],
    k: int,
    *,
    best: int = 1,
    mask: NDArray[np.bool_] | None = None,
) -> tuple[NDArray[np.int64], Float32s]:
    """Return the k documents with the best passages: numbers in the index, and scores, best first.

    Args:
        stored: vectors of all passages.
        query: unit vector, float32[H].
        ranks: uint32[D]; among equal scores the larger rank comes first.
        k: largest number of documents, >= 1.
        best: passages whose cosines are added, the best of each document; 1: MaxP.
        mask: bool[D], documents to choose from; None: all.

    Raises:
        IntegrityError: a stored vector is not finite; names passage and document.
    """
    rough = products(stored.matrix, query)
    offsets = stored.offsets.astype(np.int64)
    documents = pooled(rough, offsets, best)
    if not np.isfinite(documents).all():
        stored.check_finite(rough)
    margin = rounding(query)
    allowed = np.arange(len(documents)) if mask is None else np.flatnonzero(mask)
    numbers = allowed[candidates(documents[allowed], k, margin * best)]
    scores = _exact(stored.matrix, offsets, numbers, rough, query, best, margin)
    order = np.lexsort((ranks[numbers], scores))[::-1][:k]
    return numbers[order], scores[order]


def products(matrix: NDArray[np.float32], query: Float32s, rows: int = _ROWS) -> Float32s:
    """Return the products of all rows with a query, float32[n], block by block; exact up to `rounding`."""
    scores = np.empty(len(matrix), np.float32)
    for start in range(0, len(matrix), rows):
        np.dot(matrix[start : start + rows], query, out=scores[start : start + rows])
    return scores


def rounding(query: Float32s) -> float:
    """Return a bound of the difference between two float32 products of a unit vector with the query, in any order.

    Each differs from the true product by at most ``H * 2**-24 * |query|`` (Higham 2002, section 3.1).
    """
    return float(2 * len(query) * 2.0**-24 * np.linalg.norm(query)) * 1.01


def pooled(scores: Float32s, offsets: NDArray[np.int64], best: int) -> Float32s:
    """Return the sum of the `best` largest scores of each document, float32[D]; every document has a score.

    Args:
        scores: float32[n], document after document.
        offsets: int64[D + 1], first score of each document.
        best: 1: the largest; summed in float64, largest first.
    """
    starts = offsets[:-1]
    if best == 1 or not len(starts):
        return np.maximum.reduceat(scores, starts) if len(starts) else np.empty(0, np.float32)
    falling, place = _falling(scores, offsets)
    sums: NDArray[np.float64] = np.add.reduceat(np.where(place < best, falling, 0).astype(np.float64), starts)
    return sums.astype(np.float32)


def candidates(documents: Float32s, k: int, margin: float) -> NDArray[np.int64]:
    """Return the documents that can be among the best k if each score is off by at most `margin`, without sorting."""
    n = len(documents)
    if n <= k:
        return np.arange(n)
    bound = float(np.partition(documents, n - k)[n - k]) - 2 * margin
    return np.flatnonzero(documents >= bound)


def _exact(  # noqa: PLR0917
    matrix: NDArray[np.float32],
    offsets: NDArray[np.int64],
    numbers: NDArray[np.int64],
    rough: Float32s,
    query: Float32s,
    best: int,
    margin: float,
) -> Float32s:
    """Return the scores of some documents from exact products; passages that cannot count are left out."""
    counts = offsets[numbers + 1] - offsets[numbers]
    local = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    rows = np.arange(local[-1]) + np.repeat(offsets[numbers] - local[:-1], counts)
    falling, _ = _falling(rough[rows], local)
    last = np.minimum(local[:-1] + best, local[1:]) - 1  # the last passage of each document that counts
    kept = rough[rows] >= np.repeat(falling[last], counts) - 2 * margin
    exact = np.full(len(rows), -np.inf, np.float32)
    exact[kept] = cosines(matrix[rows[kept]], query)
    return pooled(exact, local, best)


def _falling(scores: Float32s, offsets: NDArray[np.int64]) -> tuple[Float32s, NDArray[np.int64]]:
    """Return the scores of each document, largest first, and the place of each among those of its document."""
    counts = np.diff(offsets)
    document = np.repeat(np.arange(len(counts)), counts)
    falling = scores[np.lexsort((-scores, document))]
    return falling, np.arange(len(scores)) - np.repeat(offsets[:-1], counts)
