"""Values used last, kept in memory up to a number of bytes."""

from __future__ import annotations

import hashlib
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any, Generic, TypeVar
from weakref import WeakSet

T = TypeVar("T")

ENTRY_BYTES = 512
"""Bytes that a value takes beside its arrays: its key, its place in the table, the objects of a tuple of two arrays."""

_ALL: WeakSet[Kept[Any]] = WeakSet()
_LOCK = Lock()  # of the set: threads open pipelines while others count


def key_of(texts: Sequence[str]) -> bytes:
    """Return a digest of texts; equal digests mean equal texts."""
    digest = hashlib.blake2b(array("q", map(len, texts)).tobytes(), digest_size=16)
    digest.update("".join(texts).encode("utf-8", "surrogatepass"))
    return digest.digest()


class Kept(Generic[T]):
    """Values by their keys; the least recently used are dropped beyond the capacity. Threads may share it.

    Args:
        capacity: bytes of all values, `ENTRY_BYTES` of each included.
    """

    def __init__(self, capacity: int) -> None:
        self._values: OrderedDict[bytes, tuple[T, int]] = OrderedDict()
        self._capacity = self._left = capacity
        self._lock = Lock()
        with _LOCK:
            _ALL.add(self)

    @property
    def n_bytes(self) -> int:
        """Bytes of the values that are kept."""
        return self._capacity - self._left

    def get(self, key: bytes) -> T | None:
        """Return a value, or None."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def add(self, key: bytes, value: T, n_bytes: int) -> None:
        """Add a value whose arrays have `n_bytes`, or replace it."""
        n_bytes += ENTRY_BYTES
        with self._lock:
            _, before = self._values.pop(key, (None, 0))
            self._values[key] = value, n_bytes
            self._left += before - n_bytes
            while self._left < 0:
                _, (_, dropped) = self._values.popitem(last=False)
                self._left += dropped


def kept_bytes() -> int:
    """Return the bytes of all values that this process keeps so."""
    with _LOCK:
        everything = list(_ALL)
    return sum(kept.n_bytes for kept in everything)
