"""Locks between processes: a file that a process holds, and that is free again when the process has died."""

from __future__ import annotations

import errno
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from longrank.errors import BeingWritten, InputError
from longrank.storage.temporaries import is_still

_OWNER = "pid "  # begins a lock file; a file of the user, which a lock would empty, begins otherwise
_LONGEST = 1000  # characters of a lock file
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold the lock file `path`; a lock whose process has died is free again.

    Raises:
        BeingWritten: another process holds it; names its pid and host.
        InputError: it cannot be created, or its disk has no locks.
    """
    import fcntl

    try:
        file = path.open("a+", encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"cannot be locked for writing: {error.strerror or error}", path=path.parent) from None
    with file as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            stream.seek(0)
            raise _taken(path, stream.read().strip()) from None
        except OSError as error:
            fix = "choose a folder on a disk with locks" if error.errno in _NO_LOCKS else None
            raise InputError(f"cannot be locked: {error.strerror or error}", path=path.parent, fix=fix) from None
        if not is_still(
            path, stream.fileno()
        ):  # its owner has just removed it, so the next process may lock a new file
            raise _taken(path)
        stream.seek(0)
        written = stream.read(_LONGEST).rstrip("\0")  # a power cut may leave a part of it
        if not (written.startswith(_OWNER) or _OWNER.startswith(written)):
            raise InputError("is no lock file of longrank", path=path, fix="rename it, or choose another output")
        stream.truncate(0)
        with suppress(OSError):  # a full disk: the lock holds without a name, and the output tells of the disk
            os.write(stream.fileno(), f"{_OWNER}{os.getpid()} on {socket.gethostname()}\n".encode())
        with unlocked_behind(stream.fileno()):
            yield


@contextmanager
def unlocked_behind(descriptor: int) -> Iterator[None]:
    """Unlock a descriptor behind the block: without that, a process that was forked in the block would hold the lock.

    A forked process that leaves the block unlocks nothing: it would do so for its parent.
    """
    import fcntl

    owner = os.getpid()
    try:
        yield
    finally:
        if os.getpid() == owner:
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextmanager
def lock_in_turn(path: Path) -> Iterator[None]:
    """Hold the lock file `path`, when other processes have let go of it; it is removed at the end.

    Raises:
        InputError: it cannot be created, or its disk has no locks.
    """
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(lock(path))
                break
            except BeingWritten:
                time.sleep(0.05)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _taken(path: Path, owner: str = "") -> BeingWritten:
    what = f"is being written by {owner or 'another process'}"
    name = path.name.removesuffix(".lock").removeprefix(".")  # of the locked file; empty for a folder, which has .lock
    return BeingWritten(what, path=path.parent / name, fix="wait for it to end")
