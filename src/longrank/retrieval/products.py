"""Products of all stored vectors with a query, each with a bound of its error: of float32, or of 8-bit numbers.

Both read the vectors once, in the order of the file, so they are about as fast as memory, and 8-bit numbers have a
quarter of the bytes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.index.compiling import compiled
from longrank.index.int8 import LARGEST, Int8Rows
from longrank.index.vectors import PassageVectors
from longrank.types import Float32s

_ROWS = 1 << 14
"""Vectors per block of the product; 24 MiB of 384 dimensions."""
_INT16, _INT32 = 2**15 - 1, 2**31 - 1


class Products(NamedTuple):
    """Products of vectors with a query.

    Attributes:
        scores: float32[n].
        error: largest difference from the product that a bi-encoder computes: of all vectors, or float32[n].
    """

    scores: Float32s
    error: float | Float32s

    def bounds(self, rows: NDArray[np.int64]) -> tuple[Float32s, Float32s]:
        """Return the least and the largest product that some vectors can have, float32 each."""
        error = self.error[rows] if isinstance(self.error, np.ndarray) else np.float32(self.error)
        return self.scores[rows] - error, self.scores[rows] + error


def products_of(stored: PassageVectors, query: Float32s) -> Products:
    """Return the products of stored vectors with a unit vector, float32[H]; from 8-bit numbers if they are stored."""
    if stored.int8 is None:
        return Products(products(stored.matrix, query), rounding(query))
    return int8_products(stored.int8, query)


def products(matrix: NDArray[np.float32], query: Float32s, rows: int = _ROWS) -> Float32s:
    """Return the products of all rows with a query, float32[n], block by block; exact up to `rounding`."""
    scores = np.empty(len(matrix), np.float32)
    for start in range(0, len(matrix), rows):
        np.dot(matrix[start : start + rows], query, out=scores[start : start + rows])
    return scores


def rounding(query: Float32s) -> float:
    """Return a bound of the difference between two float32 products of a unit vector with the query, in any order.

    Each differs from the true product by at most ``H * 2**-24 * |query|`` (Higham 2002, section 3.1). A little more is
    for the rounding of bounds.
    """
    return float(2 * len(query) * 2.0**-24 * np.linalg.norm(query)) * 1.01 + 2.0**-21


def int8_products(rows: Int8Rows, query: Float32s) -> Products:
    """Return the products of 8-bit vectors with a query, summed in whole numbers, and a bound of each error.

    The query becomes whole numbers of at most 16 bits, small enough for sums of 32 bits. By Cauchy and Schwarz, the
    rounding errors of a vector and of the query change the product by at most their lengths.
    """
    exact = query.astype(np.float64)
    most = min(_INT16, _INT32 // (LARGEST * max(1, len(query))))
    step = float(np.abs(exact).max(initial=0)) / most or 1.0
    values = np.rint(exact / step)
    scores = np.empty(len(rows.values), np.float32)
    _add_products(rows.values, values.astype(np.int16), rows.scales, np.float32(step), scores)
    of_query = float(np.linalg.norm(exact - values * step)) * 1.1  # a stored vector is no longer than 1.1
    error = rows.errors * np.float32(1.01 * np.linalg.norm(exact)) + np.float32(of_query + rounding(query))
    return Products(scores, error)


@compiled
def _add_products(
    rows: NDArray[np.int8], query: NDArray[np.int16], scales: Float32s, step: np.float32, scores: Float32s
) -> None:
    """Set `scores`, float32[n], to the products of rows, int8[n, H], with a query, int16[H], times both scales."""
    for i in range(len(rows)):
        row, total = rows[i], np.int32(0)
        for j in range(len(query)):
            total = np.int32(total + np.int32(np.int32(row[j]) * np.int32(query[j])))  # 32 bits: four times as fast
        scores[i] = np.float32(total) * (scales[i] * step)
