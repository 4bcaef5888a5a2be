"""Vectors as whole numbers of 8 bits, with the length of each rounding error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.types import Float32s

LARGEST = 127  # also in compiled code of other files: see longrank.index.compiling
"""Largest absolute value."""


class Int8Rows(NamedTuple):
    """Vectors that are ``scales[i] * values[i]``, up to an error of a known length.

    Attributes:
        values: int8[n, H], -127 to 127.
        scales: float32[n]; NaN for a vector that is not finite.
        errors: float32[n], at least the length of the difference from each vector.
    """

    values: NDArray[np.int8]
    scales: Float32s
    errors: Float32s


def int8_rows(vectors: NDArray[np.float32]) -> Int8Rows:
    """Return vectors float32[n, H] as 8-bit numbers; the largest number of each becomes 127 or -127."""
    finite: NDArray[np.bool_] = np.logical_and.reduce(np.isfinite(vectors), axis=1)
    exact = np.where(finite[:, None], vectors, 0).astype(np.float64)
    scales = (np.abs(exact).max(axis=1, initial=0) / LARGEST).astype(np.float32)
    steps = np.where(scales == 0, 1, scales).astype(np.float64)[:, None]
    values = np.clip(np.rint(exact / steps), -LARGEST, LARGEST)
    lengths = np.linalg.norm(exact - values * steps, axis=1).astype(np.float32)
    errors = np.nextafter(lengths, np.float32(np.inf))  # rounded up
    return Int8Rows(values.astype(np.int8), np.where(finite, scales, np.float32(np.nan)), errors)
