"""Temporary files and folders beside their targets: ``.NAME.XXXXXXXX.tmp``.

A process locks each of its own, so the remains of killed processes can be told from work in progress.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from stat import S_IMODE

OLD = "old"
"""Name of a folder inside the temporary folder that replaces it, while it does so."""

_NAME_LENGTH = 50  # characters of a file's name in its temporary name; names have at most 255 bytes
_SUFFIX = ".tmp"


@contextmanager
def temporary_file(path: Path) -> Iterator[tuple[int, Path]]:
    """Yield the descriptor and the path of a new, locked file beside `path`, with the rights of a file that is there.

    The caller closes the descriptor, and renames the file; it is removed if it is still there at the end. Remains of
    killed processes for the same `path` are removed first.

    Raises:
        OSError: the file cannot be created.
    """
    remove_dead(path)
    rights = _rights_of(path)
    descriptor, temporary = _locked(path, partial(_made_file, 0o666 if rights is None else rights | 0o600))
    held = os.dup(descriptor)  # keeps the lock until the file has its name
    try:
        yield descriptor, temporary
    finally:
        temporary.unlink(missing_ok=True)
        os.close(held)


def _rights_of(path: Path) -> int | None:
    """Return the rights of a file; None: there is no such file."""
    try:
        return S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return None


def _made_file(rights: int, *, dir: str, prefix: str, suffix: str) -> tuple[int, str]:
    """Make a file as `tempfile.mkstemp` does, but with rights, from which the system takes those of the umask.

    To ask for the umask is to change it, for all threads.
    """
    while True:
        name = os.path.join(dir, f"{prefix}{secrets.token_hex(4)}{suffix}")  # noqa: PTH118 - as mkstemp
        with suppress(FileExistsError):
            return os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, rights), name


@contextmanager
def temporary_folder(folder: Path) -> Iterator[Path]:
    """Yield a new, locked folder beside `folder`, which is removed at the end with all that it holds then.

    Raises:
        OSError: the folder cannot be created.
    """
    remove_dead(folder)
    descriptor, temporary = _locked(folder, _made_folder)
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        os.close(descriptor)


def _made_folder(**names: str) -> tuple[int, str]:
    name = tempfile.mkdtemp(**names)
    return os.open(name, os.O_RDONLY), name


def _locked(path: Path, make: Callable[..., tuple[int, str]]) -> tuple[int, Path]:
    """Make and lock a temporary file or folder; make another if a process took it for dead before it was locked."""
    import fcntl

    while True:
        try:
            descriptor, name = make(dir=str(path.parent), prefix=_prefix(path), suffix=_SUFFIX)
        except FileNotFoundError:  # a folder, removed before it was opened
            if not path.parent.is_dir():
                raise
            continue
        with suppress(OSError):  # some network folders have no locks; nothing is taken for dead there
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if is_still(Path(name), descriptor):
            return descriptor, Path(name)
        os.close(descriptor)


def _prefix(path: Path) -> str:
    name = path.name
    if len(name) > _NAME_LENGTH:  # with a digest: what is dead for a name may be the only copy of another
        digest = hashlib.sha256(os.fsencode(name)).hexdigest()[:16]
        name = f"{name[: _NAME_LENGTH - len(digest) - 1]}-{digest}"
    return f".{name}."


def remove_dead(path: Path) -> None:
    """Remove the temporary files and folders for `path` that killed processes left."""
    names = re.compile(rf"{re.escape(_prefix(path))}[a-z0-9_]{{8}}{re.escape(_SUFFIX)}")
    with suppress(OSError):
        for left in [entry.path for entry in os.scandir(path.parent) if names.fullmatch(entry.name)]:
            _remove_if_dead(Path(left), path)


def _remove_if_dead(left: Path, path: Path) -> None:
    import fcntl

    with suppress(OSError):
        descriptor = os.open(left, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not left.is_dir():
                left.unlink()
            elif path.exists() or not (left / OLD).exists():  # else it holds the only copy
                shutil.rmtree(left)
        finally:
            os.close(descriptor)


def is_still(path: Path, descriptor: int) -> bool:
    """Tell whether the file at `path` is the open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
