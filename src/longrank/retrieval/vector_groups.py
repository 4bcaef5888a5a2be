"""Groups of almost equal vectors, of which an approximate search holds only the first.

Beside thousands of equal passages (a boilerplate text), the 16 links of a vector in a graph would all lead to others of
these, and a search would miss the rest. A model encodes equal texts of different batches with differences of about
1e-7, so vectors are compared by coordinates rounded to multiples of 2^-12.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.index.arrays import mapped, write_array
from longrank.retrieval.nearest import rows_of

_STEPS, _AT_ONCE, _HASH = 2**12, 8192, 16


class VectorGroups(NamedTuple):
    """All rows of a matrix in groups; groups by their first row.

    Attributes:
        rows: int64[n], group after group, ascending within a group.
        bounds: int64[G + 1], first place of each group in `rows`.
    """

    rows: NDArray[np.int64]
    bounds: NDArray[np.int64]

    @property
    def first(self) -> NDArray[np.int64]:
        """The first row of each group, int64[G], ascending."""
        return self.rows[self.bounds[:-1]]

    def members(self, groups: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows of some groups, int64[m], ascending, and for each the place of its group in `groups`."""
        places, local = rows_of(self.bounds, groups)
        rows, of = self.rows[places], np.repeat(np.arange(len(groups)), np.diff(local))
        order = np.argsort(rows)
        return rows[order], of[order]

    def write(self, folder: Path) -> None:
        """Write the files ``rows`` and ``groups``."""
        write_array(folder / "rows", self.rows, "<i8")
        write_array(folder / "groups", self.bounds, "<i8")


def open_groups(folder: Path, n: int) -> VectorGroups:
    """Return the groups of `n` vectors that `VectorGroups.write` wrote, memory-mapped.

    Raises:
        ValueError: they are those of another number of vectors.
    """
    groups = VectorGroups(mapped(folder / "rows", "<i8"), mapped(folder / "groups", "<i8"))
    if len(groups.rows) != n or groups.bounds[-1:].tolist() != [n]:
        raise ValueError(f"{folder}: not the groups of {n} vectors")
    return groups


def grouped(matrix: NDArray[np.float32]) -> VectorGroups:
    """Return the groups of almost equal rows of a matrix, float32[n, H]."""
    hashes = np.empty(len(matrix), f"S{_HASH}")
    for start in range(0, len(matrix), _AT_ONCE):
        rounded = np.rint(matrix[start : start + _AT_ONCE] * _STEPS).astype("<i4")
        for n, row in enumerate(rounded, start):
            hashes[n] = hashlib.blake2b(row.tobytes(), digest_size=_HASH).digest()
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    by_first = np.empty(len(first), np.int64)
    by_first[np.argsort(first)] = np.arange(len(first))
    group = by_first[inverse]
    sizes = np.bincount(group, minlength=len(first))
    return VectorGroups(np.argsort(group, kind="stable"), np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]))
