"""Fetch files in pieces, several at a time; a file appears under its name when its checksum is right."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, TypeVar

from longrank.errors import InputError, IntegrityError
from longrank.small_files import size_text
from longrank.storage.remote.contents import File
from longrank.storage.remote.store import Store
from longrank.storage.transfers import shown

S = TypeVar("S")
T = TypeVar("T")
_PIECE = 8 << 20  # bytes of a request
_THREADS = 8  # requests at a time
_PARTIAL = ".partial"


class Download(NamedTuple):
    """A file to fetch, and the places that it is wanted at."""

    file: File
    targets: list[Path]

    @property
    def partial(self) -> Path:
        """The bytes that are there already."""
        return self.targets[0].with_name(self.targets[0].name + _PARTIAL)

    @property
    def done(self) -> int:
        """The number of these bytes."""
        return min(self.partial.stat().st_size, self.file.size) if self.partial.exists() else 0


class _Piece(NamedTuple):
    download: Download
    start: int
    end: int


def download(store: Store, wanted: Sequence[Download], folder: Path) -> None:
    """Fetch files; those of an interrupted call go on where they stopped.

    Args:
        store: holds them.
        wanted: the files.
        folder: the folder that they will be in, for the space on its disk.

    Raises:
        FileNotFoundError: the store lacks a file.
        InputError: the disk has too little space, or the connection failed.
        IntegrityError: a file in the store has another checksum or size.
        OSError: writing failed.
    """
    n_bytes = sum(one.file.size - one.done for one in wanted)
    free = shutil.disk_usage(folder).free
    if n_bytes > free:
        what = f"fetching {store.address} takes {size_text(n_bytes)} and {size_text(free)} are free"
        raise InputError(what, path=folder, fix="free disk space, or set XDG_CACHE_HOME to another disk")
    resumed, again = [one for one in wanted if one.done], []
    pieces = (_Piece(one, start, min(start + _PIECE, one.file.size)) for one in wanted for start in _starts(one))
    with shown(f"fetching {store.address}", n_bytes) as advance:
        for piece, content in _ahead(lambda piece: _read(store, piece), pieces):
            _append(piece, content)
            advance(len(content))
            one = piece.download
            if piece.end == one.file.size and not _finish(one):
                if one not in resumed:
                    cure = "delete it there, and upload the index again"
                    what = f"{store.address}/{one.file.object}: checksum differs; the file is damaged ({cure})"
                    raise IntegrityError(what)
                again.append(one)
    if again:  # what was there already may have been damaged here
        download(store, again, folder)


def _starts(one: Download) -> Iterable[int]:
    return range(one.done, one.file.size, _PIECE) if one.done < one.file.size else [one.file.size]


def _read(store: Store, piece: _Piece) -> bytes:
    if piece.start == piece.end:
        return b""
    name = piece.download.file.object
    content = store.read(name, piece.start, piece.end)
    if len(content) != piece.end - piece.start:
        raise IntegrityError(f"{store.address}/{name}: is shorter than its manifest says; upload the index again")
    return content


def _append(piece: _Piece, content: bytes) -> None:
    with piece.download.partial.open("ab") as stream:
        stream.truncate(piece.start)
        stream.write(content)


def _finish(one: Download) -> bool:
    """Give a fetched file its names if its checksum is right, else remove it; tell which."""
    digest = hashlib.sha256()
    with one.partial.open("rb") as stream:
        while content := stream.read(1 << 20):
            digest.update(content)
    if digest.hexdigest() != one.file.sha256:
        one.partial.unlink()
        return False
    for target in one.targets[1:]:
        link_or_copy(one.partial, target)
    one.partial.replace(one.targets[0])
    return True


def _ahead(function: Callable[[S], T], items: Iterator[S]) -> Iterator[tuple[S, T]]:
    """Yield each item with its result, in order; a few are computed ahead, so memory is bounded."""
    waiting: deque[tuple[S, Future[T]]] = deque()
    pool = ThreadPoolExecutor(_THREADS, "longrank-fetch")
    try:
        for item in items:
            waiting.append((item, pool.submit(function, item)))
            if len(waiting) >= _THREADS:
                first, result = waiting.popleft()
                yield first, result.result()
        while waiting:
            first, result = waiting.popleft()
            yield first, result.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file a second name, or copy it where the disk has no such names; in one step."""
    try:
        os.link(source, target)
    except OSError:
        copy = target.with_name(target.name + _PARTIAL)
        shutil.copyfile(source, copy)
        copy.replace(target)
