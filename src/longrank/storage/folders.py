"""Folders that are whole or absent at any time."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from longrank.errors import InputError, LongRankError
from longrank.storage.files import check_parent, sync, sync_folder
from longrank.storage.temporaries import OLD, temporary_folder


@contextmanager
def atomic_folder(folder: Path, *, replace: bool = True) -> Iterator[Path]:
    """Yield an empty folder that becomes `folder` when the block ends without an error.

    An existing folder is replaced if all its files have new versions: it exchanges its name with the new one, in one
    step. On a file system without such a step (`exchange`), a kill between two renames leaves the old folder under a
    hidden name beside its place.

    Args:
        folder: the path; the folder above must exist.
        replace: false: refuse a folder that is not empty when the block ends.

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
            sync_tree(new)
            if folder.exists():
                _check_names(folder, _names_below(new) if replace else set())
            if not replace:
                _take_free_place(new, folder)
            elif not folder.exists() or not exchange(new, folder):
                _take_place(new, folder, work / OLD)
            sync_folder(parent)
    except LongRankError:
        raise
    except Exception as error:
        if (reason := _reason(error)) is None:
            raise
        raise LongRankError(f"cannot write {folder}: {reason}") from error


def _reason(error: Exception) -> str | None:
    """Return why the operating system refused, or None for other errors.

    Libraries in Rust (safetensors, tokenizers) raise errors of their own that end in the number: ``(os error 28)``.
    """
    if isinstance(error, OSError):
        return error.strerror or str(error)
    number = re.search(r"\(os error (\d+)\)$", str(error))
    return None if number is None else os.strerror(int(number[1]))


_UNABLE = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_HERE = -100  # AT_FDCWD: paths are those of the process


def exchange(one: Path, other: Path) -> bool:
    """Exchange the names of two folders that exist, in one step: each name stands for a whole folder at any moment.

    Returns:
        False: nothing was done, since the system (Windows) or the file system (NFS, FAT, ...) has no such step.

    Raises:
        OSError: the names cannot be exchanged.
    """
    import ctypes

    call = _exchanging()
    if call is None:
        return False
    if call(os.fsencode(one), os.fsencode(other)) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNABLE:
        return False
    raise OSError(number, os.strerror(number), str(other))


@cache
def _exchanging() -> Callable[[bytes, bytes], int] | None:
    """Return the function of the C library, which Python does not have; None if there is none."""
    import ctypes

    if sys.platform not in ("linux", "darwin"):
        return None
    library = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin" and hasattr(library, "renamex_np"):
        return lambda one, other: int(library.renamex_np(one, other, ctypes.c_uint(_EXCHANGE)))
    if hasattr(library, "renameat2"):
        return lambda one, other: int(library.renameat2(_HERE, one, _HERE, other, ctypes.c_uint(_EXCHANGE)))
    return None


def _take_free_place(new: Path, folder: Path) -> None:
    try:
        new.rename(folder)
    except OSError:
        if folder.exists():
            _check_names(folder, set())  # files have come since the names were checked
        raise


def _take_place(new: Path, folder: Path, old: Path) -> None:
    if folder.exists():
        folder.rename(old)
    try:
        new.rename(folder)
    except OSError:
        if old.exists():
            old.rename(folder)
        raise


def _check_names(folder: Path, names: Set[str]) -> None:
    if not folder.is_dir():
        raise InputError("is a file; a folder is needed", path=folder)
    other = sorted(_names_below(folder) - names)
    if other:
        raise InputError(
            "holds other files, which would be deleted", path=folder, got=other[0], fix="choose a new folder"
        )


def _names_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def sync_tree(folder: Path) -> None:
    """Make all files and names below a folder survive a power cut."""
    for path in folder.iterdir():
        if path.is_dir():
            sync_tree(path)
            continue
        with path.open("rb") as stream:
            sync(stream.fileno())
    sync_folder(folder)
