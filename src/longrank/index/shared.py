"""An index as other processes open it, on this machine or another: in the state of the process that opened it first."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from longrank.engines import changed
from longrank.errors import InputError, IntegrityError
from longrank.index.parts import Part, packed
from longrank.index.reader import Index


class SharedSegment(NamedTuple):
    """A segment of an open index.

    Attributes:
        data: name of its data folder.
        dead: its deletions, packed; empty: none.
        is_shard: as of `Part`.
    """

    data: str
    dead: bytes
    is_shard: bool


class SharedIndex(NamedTuple):
    """Place, folder and state of an open index.

    Attributes:
        place: its folder, or its address in an object store.
        path: its folder on the machine that opened it.
        digest: digest of the state.
        segments: the segments of the state.
    """

    place: Path | str
    path: Path
    digest: str
    segments: Sequence[SharedSegment]

    @classmethod
    def of(cls, index: Index) -> SharedIndex:
        """Return the place, the folder and the state of an index."""
        segments = [
            SharedSegment(part.folder.name, packed(part.dead) if part.dead.any() else b"", part.is_shard)
            for part in index.parts
        ]
        return cls(index.location, index.path, index.digest, segments)

    def open(self) -> Index:
        """Open the state in the folder, which may be a local copy; where there is none, in the place.

        After a change, the state can be opened as long as the folder holds its segments.

        Raises:
            Changed: the index changed, and the state is gone.
            InputError, IntegrityError: as `Index`.
        """
        index = Index(self.path if self.path.is_dir() else self.place)
        if index.digest != self.digest:
            try:
                index = Index(index.path, parts=[_part(index.path, segment) for segment in self.segments])
            except (InputError, IntegrityError, FileNotFoundError, ValueError):
                raise changed(self.place) from None
            if index.digest != self.digest:
                raise changed(self.place)
        return index


def _pickled(index: Index) -> tuple[Callable[[SharedIndex], Index], tuple[SharedIndex]]:
    return SharedIndex.open, (SharedIndex.of(index),)


copyreg.pickle(Index, _pickled)
"""An index is pickled as its place and state, not its content: a process that unpickles it opens the same state."""


def _part(folder: Path, segment: SharedSegment) -> Part:
    part = Part.open(folder / segment.data)
    if segment.dead:
        part.dead = np.unpackbits(np.frombuffer(segment.dead, np.uint8), count=len(part.dead)).astype(np.bool_)
    part.is_shard = segment.is_shard
    return part
