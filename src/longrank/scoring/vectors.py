"""Cosines of passage vectors with a query, and a cache of the vectors used last."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
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


def key_of(texts: Sequence[str]) -> bytes:
    """Return a digest of a document's passage texts; equal digests mean equal vectors."""
    digest = hashlib.blake2b(digest_size=16)
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "little") + raw)
    return digest.digest()


class KeptVectors:
    """Vectors of the documents used last, by `key_of` their texts, up to a number of bytes."""

    def __init__(self, capacity: int) -> None:
        self._entries: OrderedDict[bytes, Vectors] = OrderedDict()
        self._left = capacity

    def get(self, key: bytes) -> Vectors | None:
        """Return a document's vectors, or None."""
        if key in self._entries:
            self._entries.move_to_end(key)
        return self._entries.get(key)

    def add(self, key: bytes, entry: Vectors) -> None:
        """Add a document's vectors, and drop the least recently used ones beyond the capacity."""
        self._entries[key] = entry
        self._left -= entry.vectors.nbytes
        while self._left < 0:
            self._left += self._entries.popitem(last=False)[1].vectors.nbytes
