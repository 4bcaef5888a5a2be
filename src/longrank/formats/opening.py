"""Open an input file, plain or gzipped.

Other file types, cut or damaged gzip files and decompression bombs are refused.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from errno import ELOOP, ENOENT, ENOTDIR
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO, cast

from longrank.errors import InputError
from longrank.small_files import MIB, check_path, check_size, too_long
from longrank.storage import changed, written_state

_MAGIC = (
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
)
_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst", ".zip", ".7z", ".rar")
_OTHER_PACKERS = (".bz2", ".xz", ".zst")
_CHUNK = 1 << 20  # bytes read at a time
_KEPT = "files that are kept in memory"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for hostile or broken files; all in bytes but `max_ratio`.

    Attributes:
        max_line: longest line, without its end.
        max_total: largest file, unpacked; None: no limit. For files kept in memory.
        max_uncompressed: largest unpacked size of a gzip file; None: no absolute limit.
        max_ratio: largest ratio of unpacked to packed size ...
        ratio_from: ... checked from this unpacked size on.
    """

    max_line: int = 64 << 20
    max_total: int | None = None
    max_uncompressed: int | None = None
    max_ratio: int = 200
    ratio_from: int = 16 << 20


DEFAULT_LIMITS = Limits()
LIMITS_IN_MEMORY = Limits(max_total=256 * MIB, ratio_from=MIB)
"""For files kept in memory line by line, such as queries: 1 MiB of blank lines takes 100 MiB of memory."""
LIMITS_OF_FOLDS = Limits(max_total=64 * MIB, ratio_from=MIB)
"""For JSON files that are parsed whole."""


def read_bytes(path: Path, limits: Limits = DEFAULT_LIMITS) -> bytes:
    """Return a whole file, unpacked if it ends in ``.gz``; for formats that cannot be read line by line.

    Raises:
        InputError: as `read_chunks`.
    """
    return b"".join(read_chunks(path, limits))


def read_chunks(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[bytes]:
    """Yield the bytes of a file, about 1 MiB at a time, unpacked if it ends in ``.gz``.

    Raises:
        InputError: as `open_bytes`; or a gzip file that is cut off or damaged, unpacks to more than
            the limits allow, or cannot be read.
        Changed: a program writes to the file.
    """
    total = 0
    with open_bytes(path) as stream:
        began = written_state(stream)
        try:
            if limits.max_total is not None and not isinstance(stream, _Gzip):
                check_size(path, limits.max_total, _KEPT)
            while chunk := stream.read(_CHUNK):
                total += len(chunk)
                _refuse_long(path, total, stream, limits)
                yield chunk
            if written_state(stream) != began:
                raise changed(path)
        except EOFError:
            at = path.stat().st_size
            raise InputError(f"gzip file is cut off at byte {at}", path=path, fix="fetch or copy it again") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise InputError(
                f"gzip file is damaged: {_damage(error)}", path=path, fix="fetch or copy it again"
            ) from None
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", path=path) from None


def open_bytes(path: Path) -> BinaryIO:
    """Open a file for reading, unpacked if its name ends in ``.gz``. A pipe is opened once, so it works too.

    Raises:
        InputError: no such file, a folder, an archive, an unsupported compression, or no permission.
    """
    try:
        check_path(path)
        _check_name(path)
        stream = path.open("rb")
        head = stream.peek(8)[:8]
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=path) from None
    kind = next((name for magic, name in _MAGIC if head.startswith(magic)), None)
    named_gz = path.name.lower().endswith(".gz")
    if named_gz and kind == "gzip":
        return cast(BinaryIO, _Gzip(stream))
    if kind is None and not (named_gz and head):
        return stream
    stream.close()
    raise _wrong_kind(path, kind, named_gz)


class _Gzip(gzip.GzipFile):
    """A gzip file that closes the stream below it and tells how many bytes of it were read."""

    def __init__(self, packed: BinaryIO) -> None:
        super().__init__(fileobj=packed, mode="rb")
        self.packed = packed

    def close(self) -> None:
        super().close()
        self.packed.close()


def is_file(path: Path) -> bool:
    """Tell whether a path leads to a file.

    A folder may be listed and not entered; Python 3.14's `Path.is_file` hides that.

    Raises:
        InputError: a folder on the way cannot be entered.
    """
    try:
        return S_ISREG(path.stat().st_mode)
    except OSError as error:
        if error.errno in (ENOENT, ENOTDIR, ELOOP):
            return False
        raise InputError(f"cannot be read: {error.strerror or error}", path=path) from None


def _check_name(path: Path) -> None:
    name = path.name.lower()
    if path.is_dir():
        raise InputError("is a folder, not a file", path=path)
    if name.endswith(_ARCHIVES):
        raise InputError("is an archive", path=path, fix="unpack it first")
    if name.endswith(_OTHER_PACKERS):
        raise InputError("has an unsupported compression; only .gz is unpacked", path=path, fix="unpack it first")
    if not path.exists():
        raise InputError("no such file", path=path)


def _wrong_kind(path: Path, kind: str | None, named_gz: bool) -> InputError:
    if named_gz:
        return InputError("is named .gz but is not a gzip file", path=path)
    if kind == "UTF-16":
        return InputError("file is UTF-16", path=path, fix="convert it, e.g. iconv -f utf-16 -t utf-8")
    if kind == "gzip":
        return InputError(
            "is a gzip file but its name does not end in .gz", path=path, fix="name it .gz, or unpack it first"
        )
    return InputError(f"is a {kind} file", path=path, fix="unpack it first")


def _damage(error: Exception) -> str:
    message = str(error)
    if message.startswith("Not a gzip"):
        return "other bytes follow the gzip data"
    if message.startswith(("CRC", "Incorrect length")):
        return "its checksum does not match"
    return "it cannot be unpacked"


def _refuse_long(path: Path, total: int, stream: BinaryIO, limits: Limits) -> None:
    if limits.max_total is not None and total > limits.max_total:
        raise too_long(path, limits.max_total, _KEPT)
    if isinstance(stream, _Gzip):
        _refuse_bomb(path, total, stream.packed.tell(), limits)


def _refuse_bomb(path: Path, unpacked: int, packed: int, limits: Limits) -> None:
    if limits.max_uncompressed is not None and unpacked > limits.max_uncompressed:
        raise InputError(f"unpacks to more than {limits.max_uncompressed} bytes (--max-uncompressed)", path=path)
    if unpacked > limits.ratio_from and unpacked > limits.max_ratio * packed:
        fix = "if you trust it, unpack it first, or raise the limit where --max-ratio is offered"
        raise InputError(f"unpacks to more than {limits.max_ratio} times its size", path=path, fix=fix)
