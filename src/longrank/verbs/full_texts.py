"""State of the full texts beside the table of a CORD-19 release: JSON files, which the table names."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from longrank.index.sources import is_young
from longrank.storage import sha256_of

NO_TEXTS = hashlib.sha256().hexdigest()
"""The digest of no full text."""


def digest_of_texts(folder: Path) -> str:
    """Return a digest of the names, sizes and times of the JSON files below a folder.

    A file of the last seconds may change again without a new time: the digest has its content instead.
    """
    digest = hashlib.sha256()
    for text in sorted(_full_texts(folder)):
        with suppress(FileNotFoundError, NotADirectoryError):
            status = text.stat()
            reads = is_young(status.st_mtime_ns) and stat.S_ISREG(status.st_mode) and os.access(text, os.R_OK)
            state = sha256_of(text) if reads else status.st_mtime_ns
            digest.update(f"{text.relative_to(folder)} {status.st_size} {state}\n".encode())
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
