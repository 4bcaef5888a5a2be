"""State of the full texts beside the table of a CORD-19 release: JSON files, which the table names."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

NO_TEXTS = hashlib.sha256().hexdigest()
"""The digest of no full text."""


def digest_of_texts(folder: Path) -> str:
    """Return a digest of the names, sizes and times of the JSON files below a folder."""
    digest = hashlib.sha256()
    for text in sorted(_full_texts(folder)):
        with suppress(FileNotFoundError, NotADirectoryError):
            status = text.stat()
            digest.update(f"{text.relative_to(folder)} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _full_texts(folder: Path) -> Iterator[Path]:
    """Yield the JSON files below a folder, also those of linked folders that lie elsewhere, each of these once."""
    own, linked = folder.resolve(), set[Path]()
    for parent, folders, files in os.walk(folder, followlinks=True):
        for place in sorted(Path(parent, name) for name in folders):
            if place.is_symlink():
                target = place.resolve()
                if target in linked or target.is_relative_to(own) or own.is_relative_to(target):
                    folders.remove(place.name)
                linked.add(target)
        folders.sort()  # of two links to a folder, the same is followed each time
        yield from (Path(parent, name) for name in files if name.endswith(".json"))
