"""All writing that must survive a crash, in one place.

Three shapes, each either whole or absent whatever happens in between:

- a *file* (`atomic_write`): written beside its place, synced, then renamed over it;
- a *folder* (`write_manifest`, `open_manifest`, `verify`): valid only with its manifest, which is
  written last and names the size and SHA-256 of every other file;
- a *journal* (`Journal`, `read_journal`): records with checksums appended to one file; a torn tail is cut
  back to the last commit mark.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import struct
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

from longrank.errors import InputError, IntegrityError, LongRankError

MANIFEST = "manifest.json"
_CHUNK = 1 << 20


@contextmanager
def atomic_write(path: Path, mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a file that appears at `path` only when the block ends without an error.

    Args:
        path: where the file goes; its folder must exist.
        mode: ``"wb"``, or ``"w"`` for UTF-8 text with ``\\n`` line ends.

    Raises:
        InputError: the folder does not exist or cannot be written to.
        LongRankError: writing failed (no space left, ...).
    """
    path = Path(path)
    check_writable(path)
    options: dict[str, str] = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, mode, **options) as stream:  # type: ignore[call-overload]
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise LongRankError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Fail early, before hours of work, if `path` cannot be written as a file.

    Raises:
        InputError: it is a folder, or its folder is absent or read-only.
    """
    if path.is_dir():
        raise InputError("is a folder; a file name is needed", path=path)
    if not path.parent.is_dir():
        raise InputError("its folder does not exist", path=path, fix=f"mkdir -p {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise InputError("its folder cannot be written to", path=path)


def sync_folder(folder: Path) -> None:
    """Make renames inside `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# --- folders with a manifest ------------------------------------------------------------------


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def digest_of(value: object) -> str:
    """Return the SHA-256 of a JSON-able value; equal values give equal digests in every process."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def write_manifest(folder: Path, meta: Mapping[str, Any]) -> dict[str, Any]:
    """Sync every file below `folder`, then write its manifest: ``meta`` plus ``files`` (size, sha256).

    The manifest is what makes the folder valid, so call this last. It holds no time and no path,
    so equal content gives equal bytes.
    """
    files = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.name != MANIFEST):
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
        files[path.relative_to(folder).as_posix()] = {"size": path.stat().st_size, "sha256": sha256_of(path)}
    for below in sorted(p for p in folder.rglob("*") if p.is_dir()):
        sync_folder(below)
    manifest = {**meta, "files": files}
    with atomic_write(folder / MANIFEST, "w") as stream:
        json.dump(manifest, stream, indent=1, sort_keys=True, ensure_ascii=False)
        stream.write("\n")
    return manifest


def open_manifest(folder: Path) -> dict[str, Any]:
    """Read a folder's manifest and check that every file is there with its size.

    Raises:
        InputError: there is no such folder, or it holds no manifest.
        IntegrityError: the manifest cannot be read, or a file is missing or of another size.
    """
    if not (folder / MANIFEST).is_file():
        raise InputError("holds no manifest: not written by longrank, or never finished", path=folder)
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        sizes = {name: int(entry["size"]) for name, entry in manifest["files"].items() if entry["sha256"]}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OSError) as error:
        raise IntegrityError(f"{folder / MANIFEST}: cannot be read ({error})") from error
    for name, size in sizes.items():
        path = folder / name
        if not path.is_file():
            raise IntegrityError(f"{path}: missing")
        if path.stat().st_size != size:
            raise IntegrityError(f"{path}: {path.stat().st_size} bytes instead of {size}")
    return manifest


def verify(folder: Path) -> int:
    """Compare every file of a folder with the checksum in its manifest; return how many there are.

    Raises:
        InputError: no manifest.
        IntegrityError: names the first damaged file.
    """
    manifest = open_manifest(folder)
    for name, entry in manifest["files"].items():
        if sha256_of(folder / name) != entry["sha256"]:
            raise IntegrityError(f"{folder / name}: checksum differs; the file is damaged")
    return len(manifest["files"])


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold the lock file `path`; a lock whose process has died is free again.

    Raises:
        InputError: another process holds it (names its pid and host), or it cannot be created.
    """
    import fcntl

    try:
        file = path.open("a+", encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be locked for writing: {error.strerror or error}", path=path.parent) from None
    with file as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            stream.seek(0)
            owner = stream.read().strip() or "another process"
            raise InputError(f"is being written by {owner}", path=path.parent, fix="wait for it to end") from None
        stream.truncate(0)
        stream.write(f"pid {os.getpid()} on {socket.gethostname()}\n")
        stream.flush()
        yield


# --- journals ---------------------------------------------------------------------------------
#
# Layout: one UTF-8 JSON header line, then frames. A frame is  kind (1 byte: R or C), length of the
# body (uint32), CRC-32 of kind, length and body (uint32), body; little-endian. A C frame is a commit
# mark: everything before it is safe. Its body says how many records it closes, since the last mark.

_FRAME = struct.Struct("<cII")
_RECORD, _COMMIT = b"R", b"C"


def _frame(kind: bytes, body: bytes) -> bytes:
    crc = zlib.crc32(body, zlib.crc32(kind + struct.pack("<I", len(body))))
    return _FRAME.pack(kind, len(body), crc) + body


class Journal:
    """An append-only file of checksummed records that a kill at any moment cannot spoil.

    Opening an existing journal needs the same header; its torn tail is cut back to the last commit
    mark. `n_committed` says how many records are safe already.
    """

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        """Create `path` with `header`, or open it to append.

        Raises:
            InputError: the file there is no journal, or was written with another header; names the
                first key that differs.
        """
        self.path = path
        if not path.exists():
            with atomic_write(path) as stream:
                stream.write(_header_line(header))
        found = read_header(path)
        _refuse_changed(path, found, json.loads(_header_line(header)))
        self.n_committed, self.n_marks, end = _scan(path)
        self._stream: BinaryIO = path.open("r+b")
        self._stream.truncate(end)
        self._stream.seek(end)
        self._pending = 0

    def append(self, body: bytes) -> None:
        """Add a record; it is safe only after the next `commit`.

        Raises:
            LongRankError: writing failed (no space left, ...).
        """
        with _writing(self.path):
            self._stream.write(_frame(_RECORD, body))
        self._pending += 1

    def commit(self) -> None:
        """Write a commit mark and sync: all records so far survive a crash.

        Raises:
            LongRankError: writing failed (no space left, ...).
        """
        with _writing(self.path):
            self._stream.write(_frame(_COMMIT, struct.pack("<I", self._pending)))
            self._stream.flush()
            os.fsync(self._stream.fileno())
        self.n_committed, self.n_marks, self._pending = self.n_committed + self._pending, self.n_marks + 1, 0

    def close(self) -> None:
        """Close the file; records after the last `commit` are forgotten at the next opening."""
        with suppress(OSError):  # what could not be flushed was not committed either
            self._stream.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LongRankError(f"cannot write {path}: {error.strerror or error}") from error


def _header_line(header: Mapping[str, Any]) -> bytes:
    return json.dumps(header, sort_keys=True, ensure_ascii=False).encode() + b"\n"


def read_header(path: Path) -> dict[str, Any]:
    """Return the header of a journal.

    Raises:
        InputError: no such file, or it does not begin as a journal does.
    """
    if not path.is_file():
        raise InputError("no such file", path=path)
    with path.open("rb") as stream:
        line = stream.readline(_CHUNK)
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or not line.endswith(b"\n"):
        raise InputError("does not begin with a JSON header line; not a file written by longrank", path=path)
    return header


def _refuse_changed(path: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    for key in sorted(found.keys() | wanted.keys()):
        if found.get(key) != wanted.get(key):
            raise InputError(
                f"was begun with another {key}: {json.dumps(found.get(key))} then, {json.dumps(wanted.get(key))} now",
                path=path,
                fix="give the old settings to resume, or remove the file to start afresh",
            )


def _frames(path: Path) -> Iterator[tuple[bytes, bytes, int]]:
    """Yield (kind, body, end offset) of every whole frame; stop at the first torn or damaged one.

    A commit mark that closes another number of records than stand before it is damage too.
    """
    size = path.stat().st_size
    records = 0
    with path.open("rb") as stream:
        end = len(stream.readline())
        while len(head := stream.read(_FRAME.size)) == _FRAME.size:
            kind, length, crc = _FRAME.unpack(head)
            if kind not in (_RECORD, _COMMIT) or end + _FRAME.size + length > size:
                return
            body = stream.read(length)
            if zlib.crc32(body, zlib.crc32(head[: 1 + 4])) != crc:
                return
            records += kind == _RECORD
            if kind == _COMMIT:
                if body != struct.pack("<I", records):
                    return
                records = 0
            end += _FRAME.size + length
            yield kind, body, end


def _scan(path: Path) -> tuple[int, int, int]:
    """Return (committed records, commit marks, offset after the last mark)."""
    with path.open("rb") as stream:
        end = len(stream.readline())
    records = committed = marks = 0
    for kind, _, after in _frames(path):
        if kind == _RECORD:
            records += 1
        else:
            committed, marks, end = records, marks + 1, after
    return committed, marks, end


def read_journal(path: Path) -> Iterator[bytes]:
    """Yield the body of every committed record, in order.

    Raises:
        InputError: not a journal.
        IntegrityError: the file ends in, or holds, anything but whole committed records.
    """
    read_header(path)
    pending: list[bytes] = []
    after = None
    for kind, body, after in _frames(path):  # noqa: B007
        if kind == _RECORD:
            pending.append(body)
        else:
            yield from pending
            pending = []
    with path.open("rb") as stream:
        end = after if after is not None else len(stream.readline())
    if pending or end != path.stat().st_size:
        raise IntegrityError(f"{path}: unfinished or damaged after byte {end}; run the command that wrote it again")
