"""An index as other processes open it, on this machine or another."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from longrank.errors import InputError
from longrank.index.reader import Index


class SharedIndex(NamedTuple):
    """Place, folder and content of an open index.

    Attributes:
        place: its folder, or its address in an object store.
        path: its folder on the machine that opened it.
        digest: digest of its content.
    """

    place: Path | str
    path: Path
    digest: str

    @classmethod
    def of(cls, index: Index) -> SharedIndex:
        """Return the place and the folder of an index."""
        return cls(index.location, index.path, index.digest)

    def open(self) -> Index:
        """Open the folder, which may be a local copy; where there is none, the place.

        Raises:
            InputError: the index has changed since it was opened; or as `Index`, as other errors.
        """
        index = Index(self.path if self.path.is_dir() else self.place)
        if index.digest != self.digest:
            raise InputError(
                "has changed since it was opened", path=index.location, fix="open it, or run the command, again"
            )
        return index
