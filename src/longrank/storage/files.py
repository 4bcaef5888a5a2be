"""Files that are whole or absent at any time, and their states."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE, S_ISREG
from typing import IO, Any, TypeAlias

from longrank.errors import Changed, InputError, LongRankError
from longrank.small_files import check_path
from longrank.storage.temporaries import temporary_file

Stamp: TypeAlias = tuple[int, int, int]
_DESCRIPTORS = re.compile(r"/dev/fd|/proc/.+/fd")


@contextmanager
def atomic_write(path: Path, mode: str = "wb", check: Callable[[], object] | None = None) -> Iterator[IO[Any]]:
    """Open a file that appears at `path` only when the block ends without an error.

    A file that is there leaves the new file its rights and its owner.

    Args:
        path: the file; its folder must exist.
        mode: ``"wb"``, or ``"w"`` for UTF-8 text with ``\\n`` line ends.
        check: called right before the file appears; if it raises an error, the old file stands.

    Raises:
        InputError: the folder does not exist or cannot be written to.
        LongRankError: writing failed (no space left, ...); the old file stands, unless the message says that the new
            file is written.
    """
    check_writable(Path(path))
    path = Path(os.path.realpath(path))  # a link stays a link; its target is replaced
    with writing(path), _replacing(path, mode, check) as stream:
        yield stream


@contextmanager
def _replacing(path: Path, mode: str, check: Callable[[], object] | None) -> Iterator[IO[Any]]:
    options: dict[str, str] = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    with temporary_file(path) as (descriptor, temporary):
        with os.fdopen(descriptor, mode, **options) as stream:  # type: ignore[call-overload]
            yield stream
            stream.flush()
            sync(stream.fileno())
        _keep_rights(path, temporary)
        if check is not None:
            check()
        temporary.replace(path)
        _sync_name(path)


def _keep_rights(path: Path, new: Path) -> None:
    """Give a new file the rights of the file that it replaces, and the owner and group as far as the system allows."""
    try:
        old = path.stat()
    except FileNotFoundError:
        return
    made = new.stat()
    for owner in (old.st_uid, -1):  # only root may give files away; a member of the group may give them the group
        with suppress(OSError):
            if (made.st_uid, made.st_gid) != (old.st_uid, old.st_gid):
                os.chown(new, owner, old.st_gid)
            break
    new.chmod(S_IMODE(old.st_mode))  # those that the umask took, too


def _sync_name(path: Path) -> None:
    """Make the new name survive a power cut.

    Raises:
        LongRankError: the disk refuses; says that the new file stands all the same.
    """
    try:
        sync_folder(path.parent)
    except OSError as error:
        what = f"{path} is written, but a power cut may undo it: its folder cannot be synced"
        raise LongRankError(f"{what} ({error.strerror or error})") from error


def check_writable(path: Path) -> None:
    """Fail early, before hours of work, if `path` cannot be written as a file.

    Raises:
        InputError: the path is ``-``, a folder, pipe, device or open file, the file or its folder is read-only, its
            folder is absent, or the name is too long.
    """
    if str(path) == "-":
        raise InputError("'-' is no file: results are not written to standard output", fix="name a file")
    try:
        check_path(path)
        is_folder = path.is_dir()
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", path=path) from None
    if is_folder:
        raise InputError("is a folder; a file name is needed", path=path)
    if path.is_symlink() and os.path.islink(os.path.realpath(path)):  # noqa: PTH114 - Path fails on loops
        raise InputError("is a link that leads to itself", path=path)
    if path.exists() and not path.is_file():  # a rename would replace /dev/stdout for all processes
        raise InputError("is a pipe or a device; a file name is needed", path=path)
    if path.exists() and _is_descriptor(path):  # a rename would replace the file to which the shell appends
        raise InputError("is a file that is open already; a file name is needed", path=path)
    if path.exists() and not os.access(path, os.W_OK):  # a rename would replace it all the same
        raise InputError("is write-protected", path=path, fix=f"chmod u+w {shlex.quote(str(path))}, or another name")
    check_parent(path, Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent)


def _is_descriptor(path: Path) -> bool:
    """Tell whether a path leads to a file by a descriptor of a process: /dev/stdout, /dev/fd/1, /proc/self/fd/1."""
    while True:
        folder = os.path.realpath(path.parent)
        if _DESCRIPTORS.fullmatch(folder):
            return True
        if not path.is_symlink():
            return False
        path = Path(folder, path.readlink())


def check_folder(folder: Path) -> None:
    """Fail early, before hours of work, if files cannot be written to `folder`, which may be absent.

    Raises:
        InputError: the path is a file or a broken link, or the folder or its parent is absent or read-only.
    """
    if os.path.isdir(folder):  # noqa: PTH112 - Path fails on odd names
        if not os.access(folder, os.W_OK):
            raise InputError("cannot be written to", path=folder)
        return
    if os.path.lexists(folder):
        what = "file" if folder.exists() else "broken link"
        raise InputError(f"is a {what}; a folder is needed", path=folder)
    check_writable(folder)


def check_parent(path: Path, parent: Path) -> None:
    """Refuse `path` if its folder `parent` cannot hold it.

    Raises:
        InputError: `parent` is not a folder, or is read-only.
    """
    if not parent.is_dir():
        raise InputError("its folder does not exist", path=path, fix=f"mkdir -p {shlex.quote(str(parent))}")
    if not os.access(parent, os.W_OK):
        raise InputError("its folder cannot be written to", path=path)


def sync_folder(folder: Path) -> None:
    """Make renames inside `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """Write the content of a file, or the entries of a folder, to the disk.

    Raises:
        LongRankError: the disk refuses; names the file.
    """
    with writing(path):
        sync_folder(path)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise errors of the disk as a `LongRankError` that names the file."""
    try:
        yield
    except OSError as error:
        raise LongRankError(f"cannot write {path}: {error.strerror or error}") from error


@contextmanager
def writing_into(folder: Path) -> Iterator[None]:
    """Raise errors of the disk as a `LongRankError` that names the folder; errors of other places stay as they are.

    Documents may come from code of a caller, which reads files and connections of its own.
    """
    try:
        yield
    except OSError as error:
        places = (os.path.abspath(folder), os.path.join(os.path.abspath(folder.parent), "."))  # noqa: PTH100, PTH118
        is_raised_by_code = error.errno is None and type(error) is not OSError
        elsewhere = isinstance(error.filename, str) and not os.path.abspath(error.filename).startswith(places)  # noqa: PTH100
        if is_raised_by_code or elsewhere:
            raise
        raise LongRankError(f"cannot write {folder}: {error.strerror or error}") from error


def sync(descriptor: int) -> None:
    """Write a file or the entries of a folder to the disk.

    Raises:
        OSError: the disk refuses.
    """
    import fcntl

    if full := getattr(fcntl, "F_FULLFSYNC", None):  # macOS: os.fsync stops at the cache of the disk
        with suppress(OSError):  # network disks do not know it
            fcntl.fcntl(descriptor, full)
            return
    os.fsync(descriptor)


def changed(path: Path) -> Changed:
    """Return the error on a file that is in another state than when it was opened."""
    return Changed("has changed since it was opened", path=path, fix="begin again")


@contextmanager
def unchanged(paths: Iterable[Path]) -> Iterator[None]:
    """Refuse files that are in another state after the block than before: they were read in parts, or several times.

    Raises:
        Changed: names such a file.
    """
    stamps = {path: stamp_of(path) for path in paths if path.is_file()}  # a pipe changes when it is read
    yield
    for path, stamp in stamps.items():
        if stamp_of(path) != stamp:
            raise changed(path)


def stamp_of(path: Path) -> Stamp | None:
    """Return what a change of a file changes: inode, size, time of modification; None: there is no such file."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def written_state(stream: IO[Any]) -> tuple[int, int] | None:
    """Return what writing to an open file changes, size and time of modification; None for a pipe."""
    status = os.fstat(stream.fileno())
    return (status.st_size, status.st_mtime_ns) if S_ISREG(status.st_mode) else None
