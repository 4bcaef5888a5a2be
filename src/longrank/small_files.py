"""Read small files whole: settings, manifests, records. A file over its limit is refused before it is read."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from stat import S_ISREG

from longrank.errors import InputError

MIB = 1 << 20
SETTINGS = MIB
"""Largest file of settings (TOML), in bytes."""
CONFIG = 8 * MIB
"""Largest ``.json`` file of a model that is parsed whole, in bytes."""
RECORD = 64 * MIB
"""Largest file of a manifest or record that LongRank wrote, in bytes."""
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP)


def read_small(path: Path, limit: int, what: str = "this kind of file") -> bytes:
    """Return the bytes of a file of at most `limit` bytes.

    Args:
        path: the file.
        limit: in bytes; a longer file is refused, and at most one byte more is read from a pipe.
        what: noun for the message.

    Raises:
        InputError: the file is longer.
        OSError: the file cannot be read.
    """
    with path.open("rb") as stream:
        check_size(path, limit, what, stream.fileno())
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise too_long(path, limit, what)
    return content


def check_size(path: Path, limit: int, what: str, opened: int | None = None) -> None:
    """Refuse a file of more than `limit` bytes by its size alone; pipes pass.

    Args:
        path: the file.
        limit: in bytes.
        what: noun for the message.
        opened: descriptor of the file, if it is open.

    Raises:
        InputError: the file is longer.
        OSError: there is no such file.
    """
    status = path.stat() if opened is None else os.fstat(opened)
    if S_ISREG(status.st_mode) and status.st_size > limit:
        raise too_long(path, limit, what)


def too_long(path: Path, limit: int, what: str) -> InputError:
    """Return the error for a file of more than `limit` bytes."""
    return InputError(f"is larger than {limit // MIB} MiB, the limit of {what}", path=path)


def size_text(n_bytes: int) -> str:
    """Return a number of bytes for a message: in MiB, below 10 MiB in KiB.

    >>> size_text(25 * MIB), size_text(3000)
    ('25 MiB', '2 KiB')
    """
    return f"{n_bytes // MIB} MiB" if n_bytes >= 10 * MIB else f"{n_bytes >> 10} KiB"


def check_path(path: Path) -> None:
    """Refuse a path that cannot be looked up; nothing need be there.

    From Python 3.14, `Path.exists` and `Path.is_dir` answer False for such a path, as if nothing were there.

    Raises:
        OSError: the name is too long, or a folder above may not be searched.
    """
    try:
        path.stat()
    except ValueError:  # a zero byte: no file has such a name
        return
    except OSError as error:
        if error.errno not in _ABSENT:
            raise
