"""Cache of passage representations in a file, shared by runs and trainings.

    key     SHA-256 of weights, configuration, method and dtype of the encoder, of the pair's token ids and segments,
            and, for networks that tell the query's tokens from the passage's, of the query's end; and of the precision,
            where the program lets PyTorch round float32 products
    value   the row, float32

All networks on one encoder share the rows, so other aggregators can score and train without reading passages again.
A row has 4 F bytes, 1.5 KB for PARADE on MiniLM. Only missing rows are computed, in batches of their own, so the last
bits of a row depend on the cache, as in `longrank.scoring.score_cache`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.networks.inference import rounding
from longrank.storage.key_values import KeyValues
from longrank.text.packing import Packed
from longrank.types import Notes

Rows = NDArray[np.float32]

_OF_NO_EFFECT = ("_name_or_path", "architectures", "dtype", "torch_dtype", "transformers_version")
"""Keys of a configuration that do not change rows; neither does dropout."""


class RowCache:
    """Rows of a network's encoder in a file; those of one call are stored together, or not at all.

    Args:
        path: the file; created if missing.
        network: a `longrank.models.network.DocumentNetwork`; its weights are hashed now.
        dtype: dtype of the encoder's products.
        notes: counts passages with and without a row.

    Raises:
        InputError: the file is not a score cache, or cannot be written.
        IntegrityError: the file is damaged.
    """

    def __init__(self, path: Path, network: Any, dtype: str, notes: Notes) -> None:
        self._file, self._notes = KeyValues(path, "score cache"), notes
        self._told_apart = bool(network.extra_features)
        self._begun = hashlib.sha256(f"{_depends_on(network)} {dtype}".encode())

    def rows(self, packed: Sequence[Packed], compute: Callable[[Sequence[Packed]], Rows]) -> Rows:
        """Return the rows [N, *F] of pairs; missing rows are computed and stored.

        Raises:
            LongRankError: as `compute`; or the file cannot be read or written, or is damaged.
        """
        begun = self._begun.copy()
        begun.update(rounding().encode())
        keys = [self._key(begun, one) for one in packed]
        known = _decoded(self._file.get(set(keys)))
        fresh = {key: one for key, one in zip(keys, packed, strict=True) if key not in known}
        self._notes.add("passages whose vectors came from the score cache", count=len(keys) - len(fresh))
        self._notes.add("passages whose vectors were not in the score cache", count=len(fresh))
        if fresh:
            computed = compute(list(fresh.values()))
            entries = {key: row.astype("<f4").tobytes() for key, row in zip(fresh, computed, strict=True)}
            known |= _decoded(self._file.add(entries))
        return np.stack([known[key] for key in keys])

    def _key(self, begun: hashlib._Hash, one: Packed) -> bytes:
        digest = begun.copy()
        for part in (one.ids, one.type_ids):
            digest.update(np.asarray(part, dtype="<i4").tobytes())
        if self._told_apart:  # a separator's text in the query: equal ids, and without segments nothing else differs
            digest.update(b"query end %d" % one.query_end)
        return digest.digest()


def _decoded(entries: Mapping[bytes, bytes]) -> dict[bytes, Rows]:
    """Return rows, [] or [F] each: a single number has no dimension."""
    rows = {key: np.frombuffer(value, dtype="<f4").astype(np.float32) for key, value in entries.items()}
    return {key: row if len(row) > 1 else row.reshape(()) for key, row in rows.items()}


def _depends_on(network: Any) -> str:
    """Return a digest of the method, the configuration and the weights that rows depend on."""
    way, weights = network.encoded_by()
    known = network.pretrained.config.to_dict()
    config = {key: value for key, value in known.items() if key not in _OF_NO_EFFECT and "dropout" not in key}
    digest = hashlib.sha256(repr((way, type(network.pretrained).__name__, sorted(config.items()))).encode())
    for name in sorted(weights):
        digest.update(f"{name} {list(weights[name].shape)}".encode())
        digest.update(weights[name].detach().float().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
