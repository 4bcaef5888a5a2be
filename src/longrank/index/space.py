"""How much room a build takes, so that a disk too small is noticed before hours of work."""

from __future__ import annotations

import shutil
from pathlib import Path

from longrank.errors import InputError

_PER_BYTE = 3.3  # measured: the peak while segments of short passages are merged, per byte of JSONL; 2.4 remain
_MARGIN = 1.2


def check_space(folder: Path, source_bytes: int) -> int:
    """Return about how many bytes building an index of `source_bytes` of plain text takes at its peak.

    Raises:
        InputError: less than 1.2 times as much is free where `folder` is, or will be.
    """
    needed = int(source_bytes * _PER_BYTE)
    free = shutil.disk_usage(next(place for place in (folder, *folder.absolute().parents) if place.exists())).free
    if free < needed * _MARGIN:
        raise InputError(
            f"building takes about {needed >> 20} MiB and {free >> 20} MiB are free", path=folder, fix="make room"
        )
    return needed
