"""Estimate the disk space of a build, so that a full disk is noticed before hours of work."""

from __future__ import annotations

import shutil
from pathlib import Path

from longrank.errors import InputError
from longrank.small_files import size_text

_PER_BYTE = 3.3  # measured peak of a merge of short passages, per byte of JSONL; the index takes 2.4
_PER_BYTE_IN_SHARDS = 4.7  # if all shards are written at once: segments stay until then
_MARGIN = 1.2


def check_space(folder: Path, source_bytes: int, shards: int = 1) -> int:
    """Return about how many bytes building an index of `source_bytes` of plain text in some shards takes at its peak.

    Raises:
        InputError: the disk of `folder` has less than 1.2 times as much free space.
    """
    needed = int(source_bytes * (_PER_BYTE if shards == 1 else _PER_BYTE_IN_SHARDS))
    free = shutil.disk_usage(next(place for place in (folder, *folder.absolute().parents) if place.exists())).free
    if free < needed * _MARGIN:
        raise InputError(
            f"building takes about {size_text(needed)} and {size_text(free)} are free",
            path=folder,
            fix="free disk space",
        )
    return needed
