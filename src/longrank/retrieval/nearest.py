"""Documents whose stored passages are closest to a query's vector: exact search over memory-mapped vectors.

A fast product finds the score of every passage up to an error of known size. The documents that can be among the best k
by the bounds of that error are scored again from float32, row by row, as a bi-encoder scores passages. So the result
does not depend on blocks, threads, the library of the product or the type of its numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longrank.index.vectors import PassageVectors
from longrank.retrieval.products import Products, products, products_of, rounding
from longrank.scoring.vectors import cosines
from longrank.types import Float32s


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
    rough = products_of(stored, query)
    offsets = stored.offsets.astype(np.int64)
    least, most = _document_bounds(rough, offsets, best)
    if not np.isfinite(least).all():
        stored.check_finite(rough.scores)
    allowed = np.arange(len(least)) if mask is None else np.flatnonzero(mask)
    numbers = allowed[candidates(least[allowed], most[allowed], k)]
    scores = _exact(stored.matrix, offsets, numbers, rough, query, best)
    order = np.lexsort((ranks[numbers], scores))[::-1][:k]
    return numbers[order], scores[order]


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


def rows_of(offsets: NDArray[np.int64], numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of all passages of some documents, and the first of each document among them, int64[n + 1]."""
    counts = offsets[numbers + 1] - offsets[numbers]
    local = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    return np.arange(local[-1]) + np.repeat(offsets[numbers] - local[:-1], counts), local


def candidates(least: Float32s, most: Float32s, k: int) -> NDArray[np.int64]:
    """Return the documents that can be among the best k, without sorting.

    Args:
        least: float32[D], a bound below the score of each document.
        most: float32[D], a bound above it.
        k: number of documents.
    """
    n = len(least)
    return np.arange(n) if n <= k else np.flatnonzero(most >= np.partition(least, n - k)[n - k])


def _document_bounds(rough: Products, offsets: NDArray[np.int64], best: int) -> tuple[Float32s, Float32s]:
    """Return the least and the largest score that each document can have, float32[D] each."""
    if isinstance(rough.error, np.ndarray):
        bounds = (pooled(scores, offsets, best) for scores in (rough.scores - rough.error, rough.scores + rough.error))
        least, most = bounds
        return least, most
    documents, error = pooled(rough.scores, offsets, best), np.float32(best * rough.error)
    return documents - error, documents + error


def _exact(  # noqa: PLR0917
    matrix: NDArray[np.float32],
    offsets: NDArray[np.int64],
    numbers: NDArray[np.int64],
    rough: Products,
    query: Float32s,
    best: int,
) -> Float32s:
    """Return the scores of some documents from exact products; passages that cannot count are left out."""
    rows, local = rows_of(offsets, numbers)
    counts = np.diff(local)
    least, most = rough.bounds(rows)
    falling, _ = _falling(least, local)
    last = np.minimum(local[:-1] + best, local[1:]) - 1  # the last passage of each document that counts
    kept = most >= np.repeat(falling[last], counts)
    exact = np.full(len(rows), -np.inf, np.float32)
    exact[kept] = cosines(matrix[rows[kept]], query)
    return pooled(exact, local, best)


def best_cosines(
    matrix: NDArray[np.float32], offsets: NDArray[np.int64], numbers: NDArray[np.int64], query: Float32s
) -> Float32s:
    """Return the exact score of the best passage of some documents, float32[n], whichever passages they have."""
    rows, local = rows_of(offsets, numbers)
    rough = products(matrix[rows], query)
    least = np.maximum.reduceat(rough, local[:-1]) - np.float32(2 * rounding(query))
    kept = rough >= np.repeat(least, np.diff(local))
    exact = np.full(len(rows), -np.inf, np.float32)
    exact[kept] = cosines(matrix[rows[kept]], query)
    return pooled(exact, local, 1)


def _falling(scores: Float32s, offsets: NDArray[np.int64]) -> tuple[Float32s, NDArray[np.int64]]:
    """Return the scores of each document, largest first, and the place of each among those of its document."""
    counts = np.diff(offsets)
    document = np.repeat(np.arange(len(counts)), counts)
    falling = scores[np.lexsort((-scores, document))]
    return falling, np.arange(len(scores)) - np.repeat(offsets[:-1], counts)
