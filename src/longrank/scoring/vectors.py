"""Cosines of passage vectors with a query."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.types import Float32s

_ROWS_AT_ONCE = 1024


class Vectors(NamedTuple):
    """Unit vectors (or zeros) of a document's passages, float32[P, H], and the cut passages, bool[P]."""

    vectors: NDArray[np.float32]
    truncated: NDArray[np.bool_]


def cosines(rows: NDArray[np.float32], query: Float32s) -> Float32s:
    """Return the cosines [P] of unit vectors [P, H] with a unit vector [H]; each row is computed on its own."""
    scores = np.empty(len(rows), dtype=np.float32)
    for start in range(0, len(rows), _ROWS_AT_ONCE):  # little memory beside the vectors of a long document
        some = slice(start, start + _ROWS_AT_ONCE)
        # Row by row: the last bits of a matrix product depend on the number of rows.
        scores[some] = (rows[some] * query).sum(axis=1, dtype=np.float32)
    return scores
