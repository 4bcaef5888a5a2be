"""What an encoder made of passages, kept in a file for other runs and trainings.

    key     SHA-256 of what rows depend on (weights, the way of reading, dtype) and the token ids of the pair
    value   the row, float32; CRC-32 of key and row

All networks on one encoder share the rows: other aggregators score, or are trained, without reading a passage again.
A row is 4 F bytes, 1.5 KB for PARADE on MiniLM. Which rows are known decides which others share a batch, so the
last bits of a row depend on what was known before, as in `longrank.scoring.score_cache`.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.errors import IntegrityError
from longrank.storage.key_values import KeyValues
from longrank.text.packing import Packed
from longrank.types import Notes

Rows = NDArray[np.float32]
_CHECKSUM = 4  # bytes


class RowCache:
    """Rows of a network's encoder in a file; those of one call are stored together, or not at all.

    Args:
        path: the file; made if it is not there.
        network: a `longrank.models.network.DocumentNetwork`; its weights are looked at now.
        dtype: in which its encoder computes.
        notes: counts what was known and what was not.

    Raises:
        InputError: the file is something else, or cannot be written.
        IntegrityError: it is damaged.
    """

    def __init__(self, path: Path, network: Any, dtype: str, notes: Notes) -> None:
        self._file, self._notes = KeyValues(path, "score cache"), notes
        self._begun = hashlib.sha256(f"{_depends_on(network)} {dtype}".encode())

    def rows(self, packed: Sequence[Packed], compute: Callable[[Sequence[Packed]], Rows]) -> Rows:
        """Return the rows [N, *F] of pairs: those known, and those that are computed and stored now.

        Raises:
            LongRankError: as `compute`; or the file cannot be read or written, or is damaged.
        """
        keys = [self._key(one) for one in packed]
        known = {key: self._checked(key, value) for key, value in self._file.get(set(keys)).items()}
        fresh = {key: one for key, one in zip(keys, packed, strict=True) if key not in known}
        self._notes.add("passages whose vectors came from the score cache", count=len(keys) - len(fresh))
        self._notes.add("passages whose vectors were not in the score cache", count=len(fresh))
        if fresh:
            computed = compute(list(fresh.values()))
            entries = {key: _entry(key, row) for key, row in zip(fresh, computed, strict=True)}
            known |= {key: self._checked(key, value) for key, value in self._file.add(entries).items()}
        return np.stack([known[key] for key in keys])

    def _key(self, one: Packed) -> bytes:
        digest = self._begun.copy()
        digest.update(np.asarray(one.ids, dtype="<i4").tobytes())
        return digest.digest()

    def _checked(self, key: bytes, value: bytes) -> Rows:
        """Return a row, [] or [F]: a single number has no dimension."""
        body = value[:-_CHECKSUM]
        if zlib.crc32(key + body).to_bytes(_CHECKSUM, "little") != value[-_CHECKSUM:] or not body or len(body) % 4:
            raise IntegrityError(f"{self._file.path}: damaged; delete it: what it held is computed again")
        row = np.frombuffer(body, dtype="<f4").astype(np.float32)
        return row if len(row) > 1 else row.reshape(())


def _entry(key: bytes, row: Rows) -> bytes:
    body = row.astype("<f4").tobytes()
    return body + zlib.crc32(key + body).to_bytes(_CHECKSUM, "little")


def _depends_on(network: Any) -> str:
    """Return a digest of the way rows are made and of all weights that they depend on."""
    way, weights = network.encoded_by()
    digest = hashlib.sha256(repr(way).encode())
    for name in sorted(weights):
        digest.update(f"{name} {list(weights[name].shape)}".encode())
        digest.update(weights[name].detach().float().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
