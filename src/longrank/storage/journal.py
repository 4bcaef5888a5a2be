"""Append-only files of checksummed records that survive a kill at any moment.

Layout: one UTF-8 JSON header line, then frames. A frame is  kind (1 byte: R or C), length of the
body (uint32), CRC-32 of kind, length and body (uint32), body; little-endian. A C frame is a commit
mark: all records before it are safe. Its body is the number of records since the last mark. It is synced before the
next frame is written.

The header line ends with its own keys: ``"journal": 2, "crc32": "0123abcd"}``, the CRC-32 of the bytes before
``"crc32"``. Older files, as of version 0.1, lack both keys.
"""

from __future__ import annotations

import json
import os
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import Any, BinaryIO

from longrank.errors import InputError, IntegrityError, LongRankError
from longrank.storage.files import atomic_write, changed, sync, writing, written_state
from longrank.storage.workplace import refuse_changed

_MAX_HEADER = 16 << 20  # bytes
_FRAME = struct.Struct("<cII")
_RECORD, _COMMIT = b"R", b"C"
_MARK = re.compile(re.escape(_COMMIT + struct.pack("<I", 4)))
"""Kind and length of a commit mark."""
_LAYOUT, _CHECKSUM = "journal", "crc32"
"""Keys that journals add to a header: the version of the layout, and the checksum of what stands before it."""
_CHECKED = re.compile(rb'(.*)"crc32": "([0-9a-f]{8})"\}\n', re.DOTALL)


def _frame(kind: bytes, body: bytes) -> bytes:
    crc = zlib.crc32(body, zlib.crc32(kind + struct.pack("<I", len(body))))
    return _FRAME.pack(kind, len(body), crc) + body


class Journal:
    """An append-only file of checksummed records that survives a kill at any moment.

    Opening an existing journal needs the same header; its torn tail is cut back to the last commit
    mark. `n_committed` is the number of safe records.
    """

    def __init__(self, path: Path, header: Mapping[str, Any], kind: str = "journal") -> None:
        """Create `path` with `header`, or open it to append.

        Args:
            path: the file.
            header: JSON-able; the key ``format``, if there is one, tells journals of one kind from other files.
            kind: noun for the file in messages: ``"evidence file"``.

        Raises:
            InputError: the file is something else, or was written with another header; names the first key that
                differs.
            IntegrityError: its header line is damaged, or a block before the last.
        """
        self.path = path
        if not path.exists():
            with atomic_write(path) as stream:
                stream.write(_header_line(header))
        begun = _begun(path, header.get("format"), kind)
        fix = "give the old settings to resume, or choose another output"
        refuse_changed(path, begun, json.loads(json.dumps(header, sort_keys=True)), fix)
        self.n_committed, self.n_marks, end = _scan(path)
        self._stream: BinaryIO = path.open("r+b")
        if end < path.stat().st_size:
            with writing(path):
                self._stream.truncate(end)
                sync(self._stream.fileno())  # before anything else is written there
        self._stream.seek(end)
        self._pending = 0

    def append(self, body: bytes) -> None:
        """Add a record; it is safe only after the next `commit`.

        Raises:
            LongRankError: writing failed (no space left, ...).
        """
        with writing(self.path):
            self._stream.write(_frame(_RECORD, body))
        self._pending += 1

    def commit(self) -> None:
        """Write a commit mark and sync: all records so far survive a crash.

        Raises:
            LongRankError: writing failed (no space left, ...).
        """
        with writing(self.path):
            self._stream.write(_frame(_COMMIT, struct.pack("<I", self._pending)))
            self._stream.flush()
            sync(self._stream.fileno())
        self.n_committed, self.n_marks, self._pending = self.n_committed + self._pending, self.n_marks + 1, 0

    def close(self) -> None:
        """Close the file; records after the last `commit` are dropped at the next opening."""
        with suppress(OSError):  # unflushed records were not committed either
            self._stream.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _begun(path: Path, format: object, kind: str) -> dict[str, Any]:
    """Return the header of a file that exists.

    Raises:
        InputError: the file is of another format, and so may hold a user's data.
        IntegrityError: the header line is damaged.
    """
    try:
        header = read_header(path)
    except InputError:
        header = None
    if header is None or header.get("format") != format:
        raise InputError(f"exists and is no {kind} of longrank", path=path, fix="choose another name for the output")
    return header


def _header_line(header: Mapping[str, Any]) -> bytes:
    """Return the header with the checksum of its own bytes."""
    if taken := {_LAYOUT, _CHECKSUM} & header.keys():
        raise ValueError(f"headers may not have the keys {sorted(taken)}")
    values = json.dumps(header, sort_keys=True, ensure_ascii=False)[:-1]
    start = f'{values}{", " if header else ""}"{_LAYOUT}": 2, '.encode()
    line = start + f'"{_CHECKSUM}": "{zlib.crc32(start):08x}"}}\n'.encode()
    if len(line) > _MAX_HEADER:
        raise LongRankError(f"a header of {len(line)} bytes is too long; the limit is {_MAX_HEADER}")
    return line


def read_header(path: Path) -> dict[str, Any]:
    """Return the header of a journal.

    Raises:
        InputError: no such file, or it does not begin with a JSON header line.
        IntegrityError: the header line is not as it was written. Older journals have no checksum of it.
    """
    if not path.is_file():
        raise InputError("no such file", path=path)
    with path.open("rb") as stream:
        return _header_in(stream, path)


def _header_in(stream: BinaryIO, path: Path) -> dict[str, Any]:
    """Read the header line of an open journal; raises as `read_header`."""
    line = stream.readline(_MAX_HEADER)
    try:
        header = json.loads(line) if line.endswith(b"\n") else None
    except (ValueError, RecursionError):
        header = None
    checked = _CHECKED.fullmatch(line)
    if checked and zlib.crc32(checked[1]) != int(checked[2], 16):
        raise IntegrityError(f"{path}: checksum of the header line differs; the file is damaged")
    if not isinstance(header, dict):
        if f'"{_CHECKSUM}": "'.encode() in line:
            raise IntegrityError(f"{path}: the header line cannot be read; the file is damaged")
        what = "does not begin with a JSON header line; not a file written by longrank, or damaged"
        raise InputError(what, path=path)
    if (_LAYOUT in header or _CHECKSUM in header) and not checked:
        raise IntegrityError(f"{path}: checksum of the header line is missing; the file is damaged")
    if header.get(_LAYOUT, 2) != 2:
        raise IntegrityError(f"{path}: journal of layout {header[_LAYOUT]}; this longrank reads 2")
    return {key: value for key, value in header.items() if key not in (_LAYOUT, _CHECKSUM)}


def _frames(stream: BinaryIO, path: Path) -> Iterator[tuple[bytes, bytes, int]]:
    """Yield (kind, body, end offset) of every whole frame; stop at the first torn or damaged frame of the last block.

    `stream` is the open file: another file of its name changes nothing.

    A commit mark with a wrong number of records is damage, too.

    Raises:
        IntegrityError: a block is damaged that had reached the disk.
    """
    size = os.fstat(stream.fileno()).st_size
    records = 0
    stream.seek(0)
    safe = end = len(stream.readline())
    while end < size:
        kind, body = _read_frame(stream, size - end)
        if kind not in (_RECORD, _COMMIT) or (kind == _COMMIT and body != struct.pack("<I", records)):
            _check_last_block(stream, path, safe, records, range(end, size))
            return
        end += _FRAME.size + len(body)
        records, safe = (records + 1, safe) if kind == _RECORD else (0, end)
        yield kind, body, end


def _read_frame(stream: BinaryIO, left: int) -> tuple[bytes, bytes]:
    """Return kind and body of the next frame; a frame that is not whole has no kind."""
    head = stream.read(_FRAME.size)
    if len(head) < _FRAME.size:
        return b"", b""
    kind, length, crc = _FRAME.unpack(head)
    if _FRAME.size + length > left:
        return b"", b""
    body = stream.read(length)
    return (kind, body) if zlib.crc32(body, zlib.crc32(head[: 1 + 4])) == crc else (b"", b"")


def _check_last_block(stream: BinaryIO, path: Path, safe: int, records: int, rest: range) -> None:
    """Refuse a file with a bad frame outside the block that was written last.

    Each block is synced before the next one is written, so a kill or a power cut spoils the last block only: nothing
    follows its commit mark, and the mark counts more records than the whole ones before the bad frame.

    Args:
        stream: the open file.
        path: the file.
        safe: offset after the last commit mark before the bad frame.
        records: whole records between both.
        rest: offsets from the bad frame to the end of the file.

    Raises:
        IntegrityError: the frame is damaged.
    """
    marks = list(_marks(stream, rest))
    if not marks:
        return
    end, counted = marks[0]
    if end == rest.stop and counted > records and counted != _records_after_a_mark(stream, rest):
        return
    fix = f"put back a copy, or: truncate -s {safe} {quote(str(path))}, and run the command that wrote it again"
    raise IntegrityError(f"{path}: damaged after byte {safe}; finished blocks that follow: {len(marks)}; {fix}")


def _records_after_a_mark(stream: BinaryIO, rest: range) -> int:
    """Return the number of whole records that follow a damaged frame, if that is a commit mark."""
    n = 0
    stream.seek(rest.start + len(_frame(_COMMIT, bytes(4))))
    while _read_frame(stream, rest.stop - stream.tell())[0] == _RECORD:
        n += 1
    return n


def _marks(stream: BinaryIO, rest: range) -> Iterator[tuple[int, int]]:
    """Yield (end offset, number of records) of every whole commit mark in a part of a file with damaged frames."""
    size, start, text = len(_frame(_COMMIT, bytes(4))), rest.start, b""
    stream.seek(start)
    while chunk := stream.read(min(1 << 20, rest.stop - stream.tell())):
        text += chunk
        for match in _MARK.finditer(text):
            mark = text[match.start() : match.start() + size]
            if mark == _frame(_COMMIT, mark[-4:]):
                yield start + match.start() + size, int.from_bytes(mark[-4:], "little")
        start += max(0, len(text) - size + 1)
        text = text[1 - size :]


def _scan(path: Path) -> tuple[int, int, int]:
    """Return (committed records, commit marks, offset after the last mark)."""
    with path.open("rb") as stream:
        end = len(stream.readline())
        records = committed = marks = 0
        for kind, _, after in _frames(stream, path):
            if kind == _RECORD:
                records += 1
            else:
                committed, marks, end = records, marks + 1, after
    return committed, marks, end


def read_journal(path: Path, header: Mapping[str, Any] | None = None) -> Iterator[bytes]:
    """Yield the body of every committed record, in order.

    Args:
        path: the journal.
        header: its header as it was read before; None: any.

    Raises:
        InputError: not a journal, a journal with another header by now, or a file that another program writes to.
        IntegrityError: the file holds anything but whole committed records.
    """
    if not path.is_file():
        raise InputError("no such file", path=path)
    with path.open("rb") as stream:  # opened once: another file of its name changes nothing
        if _header_in(stream, path) != header and header is not None:
            raise changed(path)
        began, end = written_state(stream), stream.tell()
        pending: list[bytes] = []
        try:
            for kind, body, after in _frames(stream, path):
                if kind == _RECORD:
                    pending.append(body)
                else:
                    yield from pending
                    pending = []
                end = after
            if pending or end != os.fstat(stream.fileno()).st_size:
                what = f"unfinished or damaged after byte {end}; run the command that wrote it again"
                raise IntegrityError(f"{path}: {what}")
        except IntegrityError as error:
            if written_state(stream) != began:
                raise changed(path) from error
            raise
        if written_state(stream) != began:  # records of two files are whole, too
            raise changed(path)
