"""Folders that are whole or absent at any time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from longrank.errors import InputError, LongRankError
from longrank.storage.files import check_parent, sync, sync_folder
from longrank.storage.temporaries import OLD, temporary_folder


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that becomes `folder` when the block ends without an error.

    An existing folder is replaced if all its files have new versions. A kill between two renames leaves the old folder
    under a hidden name beside its place.

    Args:
        folder: the path; the folder above must exist.

    Raises:
        InputError: the folder above does not exist or cannot be written to, or `folder` holds other files.
        LongRankError: writing failed (no space left, ...).
    """
    folder = Path(os.path.realpath(folder))
    parent = folder.parent
    check_parent(folder, parent)
    try:
        with temporary_folder(folder) as work:
            new = work / "new"
            new.mkdir()
            yield new
            _sync(new)
            if folder.exists():
                _check_same_names(folder, new)
                folder.rename(work / OLD)
            _take_place(new, folder, work / OLD)
            sync_folder(parent)
    except OSError as error:
        raise LongRankError(f"cannot write {folder}: {error.strerror or error}") from error


def _take_place(new: Path, folder: Path, old: Path) -> None:
    try:
        new.rename(folder)
    except OSError:
        if old.exists():
            old.rename(folder)
        raise


def _check_same_names(folder: Path, new: Path) -> None:
    if not folder.is_dir():
        raise InputError("is a file; a folder is needed", path=folder)
    other = sorted({path.name for path in folder.iterdir()} - {path.name for path in new.iterdir()})
    if other:
        raise InputError(
            "holds other files, which would be deleted", path=folder, got=other[0], fix="choose a new folder"
        )


def _sync(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            _sync(path)
            continue
        with path.open("rb") as stream:
            sync(stream.fileno())
    sync_folder(folder)
