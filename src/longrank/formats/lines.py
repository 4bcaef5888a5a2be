"""Strict, streaming reading of text files, plain or gzipped: every reader of a line format starts here.

Lines end at ``\\n`` only (a ``\\r`` before it is dropped), so U+2028, U+0085 and the like stay text.
What cannot be trusted is refused with its place: another file type, a cut or damaged gzip file, a
decompression bomb, an endless line, bytes that are not in the stated encoding, a NUL.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from longrank.errors import InputError
from longrank.types import Notes

_MAGIC = (
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "zip"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
)
_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".zip", ".tar.bz2", ".tar.xz", ".7z")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop reading a hostile or broken file; all in bytes but `max_ratio`.

    Attributes:
        max_line: longest line.
        max_uncompressed: most that a gzip file may unpack to; None: no absolute limit.
        max_ratio: unpacked over packed size that is refused ...
        ratio_from: ... once this much has been unpacked.
    """

    max_line: int = 64 << 20
    max_uncompressed: int | None = None
    max_ratio: int = 200
    ratio_from: int = 1 << 30


class Line(NamedTuple):
    """A line of a file: its 1-based number, its text without the line end, and whether it had one."""

    number: int
    text: str
    ended: bool


@dataclass(frozen=True, slots=True)
class TextOptions:
    """How bytes become text: an encoding, and whether undecodable bytes are refused or replaced."""

    encoding: str = "utf-8"
    errors: str = "strict"
    limits: Limits = Limits()


DEFAULT_TEXT = TextOptions()


def read_lines(path: Path, notes: Notes, options: TextOptions = DEFAULT_TEXT) -> Iterator[Line]:
    """Yield the lines of a text file, ``.gz`` unpacked on the way.

    Args:
        path: the file.
        notes: counts a stripped byte-order mark and replaced bytes.
        options: encoding, its errors, and limits.

    Raises:
        InputError: no such file, a folder, an archive, UTF-16, a broken gzip file, a bomb, a line
            over the limit, a NUL byte, or undecodable bytes (names the byte offset in the file).
    """
    offset = 0
    for number, raw in enumerate(_raw_lines(path, options.limits), 1):
        line = raw
        if number == 1 and line.startswith(_BOM):
            line = line[len(_BOM) :]
            notes.add("byte-order mark skipped", str(path))
        ended = line.endswith(b"\n")
        if ended:
            line = line[:-2] if line.endswith(b"\r\n") else line[:-1]
        if b"\x00" in line:
            raise InputError("holds a NUL byte; not a text file, or damaged", path=path, line=number)
        yield Line(number, _decoded(line, (path, number, offset), notes, options), ended)
        offset += len(raw)


def read_bytes(path: Path, limits: Limits = DEFAULT_TEXT.limits) -> bytes:
    """Return a whole file, unpacked if it ends in ``.gz``; for formats that cannot be read line by line.

    Raises:
        InputError: as `read_lines`.
    """
    with open_bytes(path) as stream:
        return b"".join(_guarded(path, stream, limits, lambda: stream.read(1 << 20)))


def decode(raw: bytes, path: Path, notes: Notes, options: TextOptions = DEFAULT_TEXT) -> str:
    """Decode the bytes of a whole file, as `read_lines` does line by line.

    Raises:
        InputError: undecodable bytes; names the byte offset.
    """
    if raw.startswith(_BOM):
        raw = raw[len(_BOM) :]
        notes.add("byte-order mark skipped", str(path))
    return _decoded(raw, (path, None, 0), notes, options)


def open_bytes(path: Path) -> BinaryIO:
    """Open a file for reading, unpacked if its name ends in ``.gz``.

    Raises:
        InputError: no such file, a folder, an archive, or a compression that is not read.
    """
    _check_file(path)
    with path.open("rb") as stream:
        head = stream.read(8)
    kind = next((name for magic, name in _MAGIC if head.startswith(magic)), None)
    if path.name.lower().endswith(".gz"):
        if kind != "gzip" and head:
            raise InputError("is named .gz but is not a gzip file", path=path)
        return cast(BinaryIO, gzip.open(path, "rb"))
    if kind == "UTF-16":
        raise InputError("file is UTF-16", path=path, fix="convert it, e.g. iconv -f utf-16 -t utf-8")
    if kind is not None:
        raise InputError(f"is a {kind} file without the name of one", path=path, fix="unpack it first, or name it .gz")
    return path.open("rb")


def _check_file(path: Path) -> None:
    if path.name.lower().endswith(_ARCHIVES):
        raise InputError("is an archive", path=path, fix="unpack it first")
    if path.is_dir():
        raise InputError("is a folder, not a file", path=path)
    if not path.exists():
        raise InputError("no such file", path=path)
    if path.suffix.lower() in (".bz2", ".xz", ".zst"):
        raise InputError("only .gz is unpacked on the way", path=path, fix="unpack it first")


def _raw_lines(path: Path, limits: Limits) -> Iterator[bytes]:
    with open_bytes(path) as stream:
        for number, line in enumerate(_guarded(path, stream, limits, lambda: stream.readline(limits.max_line + 1)), 1):
            if len(line) > limits.max_line:
                raise InputError(f"line is longer than {limits.max_line} bytes", path=path, line=number)
            yield line


def _guarded(path: Path, stream: BinaryIO, limits: Limits, read: object) -> Iterator[bytes]:
    """Yield what `read` returns until it is empty, turning what can go wrong in unpacking into InputErrors."""
    packed = stream.fileobj if isinstance(stream, gzip.GzipFile) else None
    total = 0
    while True:
        try:
            piece: bytes = read()  # type: ignore[operator]
        except EOFError:
            at = path.stat().st_size
            raise InputError(f"gzip file is cut off at byte {at}", path=path, fix="fetch or copy it again") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise InputError(f"gzip file is damaged: {error}", path=path, fix="fetch or copy it again") from None
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", path=path) from None
        if not piece:
            return
        total += len(piece)
        if packed is not None:
            _refuse_bomb(path, total, packed.tell(), limits)
        yield piece


def _refuse_bomb(path: Path, unpacked: int, packed: int, limits: Limits) -> None:
    if limits.max_uncompressed is not None and unpacked > limits.max_uncompressed:
        raise InputError(f"unpacks to more than {limits.max_uncompressed} bytes (--max-uncompressed)", path=path)
    if unpacked > limits.ratio_from and unpacked > limits.max_ratio * packed:
        raise InputError(
            f"unpacks to more than {limits.max_ratio} times its size",
            path=path,
            fix="if it is what you expect, unpack it first",
        )


def _decoded(raw: bytes, place: tuple[Path, int | None, int], notes: Notes, options: TextOptions) -> str:
    path, line, offset = place
    try:
        return raw.decode(options.encoding)
    except UnicodeDecodeError as error:
        if options.errors == "replace":
            text = raw.decode(options.encoding, "replace")
            notes.add("undecodable bytes replaced by U+FFFD", str(path), text.count("\ufffd"))
            return text
        raise InputError(
            f"byte {offset + error.start} is not {options.encoding}",
            path=path,
            line=line,
            got=f"0x{raw[error.start]:02x}",
            fix="name its encoding with --encoding, or use --encoding-errors replace",
        ) from None
    except LookupError:
        raise InputError("unknown encoding", got=options.encoding) from None
