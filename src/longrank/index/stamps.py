"""Tell whether an index or its stored vectors were changed, without opening it."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from longrank.index.folder import SPARSE, VECTORS
from longrank.storage import MANIFEST

Stamp: TypeAlias = tuple[tuple[str, int, int, int], ...]
"""Path, inode, nanoseconds of the last modification and size of each manifest."""


def stamp_of(folder: Path) -> Stamp:
    """Return what tells a commit: another stamp means another index or other stored vectors."""
    found = []
    vectors = sorted(path for name in (VECTORS, SPARSE) for path in (folder / name).glob(f"*/{MANIFEST}"))
    for path in (folder / MANIFEST, *vectors):
        try:
            state = path.stat()
        except OSError:  # being replaced, or removed
            continue
        found.append((str(path), state.st_ino, state.st_mtime_ns, state.st_size))
    return tuple(found)
