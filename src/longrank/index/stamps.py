"""Tell whether an index or its stored vectors were changed, without opening it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TypeAlias

from longrank.errors import LongRankError
from longrank.index.folder import SPARSE, VECTORS
from longrank.storage import MANIFEST
from longrank.storage.remote import address_of, newest

Stamp: TypeAlias = tuple[tuple[str, int, int, int], ...]
"""Path from the index, inode, nanoseconds of the last modification and size of each manifest.

Of an address: its newest version.
"""

CANNOT_OPEN = (LongRankError, OSError, ValueError, KeyError)
"""Errors of opening an index while it is copied or replaced; a later attempt may succeed."""

_SECONDS = 30.0  # from one request for the manifest at an address to the next
_asked: dict[str, tuple[float, Stamp]] = {}


def stamp_of(place: Path | str) -> Stamp:
    """Return what tells a commit: another stamp means another index or other stored vectors.

    The manifest at an address is asked for every 30 seconds.

    Raises:
        InputError, IntegrityError: an address cannot be reached, or holds something else.
    """
    address, now = address_of(place), time.monotonic()
    if address:
        if address not in _asked or now - _asked[address][0] >= _SECONDS:
            _asked[address] = now, _asked.get(address, (now, ()))[1]  # after a fault, too, the next request waits
            _asked[address] = now, ((newest(address), 0, 0, 0),)
        return _asked[address][1]
    folder, found = Path(place), []
    vectors = sorted(path for name in (VECTORS, SPARSE) for path in (folder / name).glob(f"*/{MANIFEST}"))
    for path in (folder / MANIFEST, *vectors):
        try:
            state = path.stat()
        except OSError:  # being replaced, or removed
            continue
        found.append((str(path.relative_to(folder)), state.st_ino, state.st_mtime_ns, state.st_size))
    return tuple(found)
