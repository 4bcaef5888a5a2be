"""Vectors of a document's passages: their length, their cosines with a query, and a memory of those used last."""

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
    """Unit vectors (or zeros) of a document's passages, float32[P, H], and bool[P]: which were cut."""

    vectors: NDArray[np.float32]
    truncated: NDArray[np.bool_]


def cosines(rows: NDArray[np.float32], query: Float32s) -> Float32s:
    """Return the cosine of each unit vector of [P, H] with one of [H]; a row's does not depend on the others."""
    scores = np.empty(len(rows), dtype=np.float32)
    for start in range(0, len(rows), _ROWS_AT_ONCE):  # little memory beside the vectors of a long document
        some = slice(start, start + _ROWS_AT_ONCE)
        # Row by row, not by a matrix product: its last bits would depend on how many rows there are.
        scores[some] = (rows[some] * query).sum(axis=1, dtype=np.float32)
    return scores


def key_of(texts: Sequence[str]) -> bytes:
    """Return a digest of what is read of a document's passages; where it is the same, so are the vectors."""
    digest = hashlib.blake2b(digest_size=16)
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "little") + raw)
    return digest.digest()


class KeptVectors:
    """The vectors of the documents used last, by `key_of` their texts, up to a number of bytes."""

    def __init__(self, capacity: int) -> None:
        self._entries: OrderedDict[bytes, Vectors] = OrderedDict()
        self._left = capacity

    def get(self, key: bytes) -> Vectors | None:
        """Return a document's vectors, if they are still there."""
        if key in self._entries:
            self._entries.move_to_end(key)
        return self._entries.get(key)

    def add(self, key: bytes, entry: Vectors) -> None:
        """Keep a document's vectors, which are not there yet, and drop those not used for longest if need be."""
        self._entries[key] = entry
        self._left -= entry.vectors.nbytes
        while self._left < 0:
            self._left += self._entries.popitem(last=False)[1].vectors.nbytes
