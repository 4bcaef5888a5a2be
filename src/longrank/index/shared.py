"""An index as other processes open it, on this machine or another."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from longrank.index.reader import Index


class SharedIndex(NamedTuple):
    """Place and folder of an open index.

    Attributes:
        place: its folder, or its address in an object store.
        path: its folder on the machine that opened it.
    """

    place: Path | str
    path: Path

    @classmethod
    def of(cls, index: Index) -> SharedIndex:
        """Return the place and the folder of an index."""
        return cls(index.place, index.path)

    def open(self) -> Index:
        """Open the folder, which may be a local copy; where there is none, the place. Raises as `Index`."""
        return Index(self.path if self.path.is_dir() else self.place)
