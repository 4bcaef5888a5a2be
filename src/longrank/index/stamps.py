"""Tell whether an index or its stored vectors were changed, without opening it."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from longrank.index.folder import VECTORS
from longrank.storage import MANIFEST

Stamp: TypeAlias = tuple[tuple[str, int, int, int], ...]
"""Path, inode, nanoseconds of the last modification and size of each manifest."""


def stamp_of(folder: Path) -> Stamp:
    """Return what tells a commit: another stamp means another index or other stored vectors."""
    found = []
    for path in (folder / MANIFEST, *sorted((folder / VECTORS).glob(f"*/{MANIFEST}"))):
        try:
            state = path.stat()
        except OSError:  # being replaced, or removed
            continue
        found.append((str(path), state.st_ino, state.st_mtime_ns, state.st_size))
    return tuple(found)
