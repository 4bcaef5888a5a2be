"""The two kinds of index files: arrays of numbers, and lists of byte strings.

An array file holds its little-endian bytes. A list of n strings `name` is two files: the bytes of all strings one
after another (``name.bytes``), and their offsets (``name.offsets``, uint64[n + 1]). Finished indexes are
memory-mapped. During a build, slices are read when needed, which takes no address space and no open files.
"""

from __future__ import annotations

import shutil
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from longrank.errors import IntegrityError

Array = NDArray[Any]

_FEW = 16  # strings that are read faster one at a time
_BLOCK = 1 << 10  # strings of an iteration that are read at a time
_COPIED = 1 << 22  # bytes that are copied at a time


class Slices(Protocol):
    """An array in a file, mapped or not: its length and contiguous slices."""

    def __len__(self) -> int: ...
    def __getitem__(self, key: Any, /) -> Any: ...


def mapped(path: Path, dtype: str) -> Array:
    """Return the array in a file, memory-mapped.

    Raises:
        IntegrityError: the file ends within a number.
    """
    size = path.stat().st_size
    if size % np.dtype(dtype).itemsize:
        raise IntegrityError(f"{path}: {size} bytes are no whole numbers; the file is damaged")
    if size == 0:  # an empty file cannot be mapped
        return np.empty(0, dtype)
    return np.memmap(path, dtype, mode="r").view(np.ndarray)


class ArrayFile:
    """An array in a file; slices are read when needed."""

    def __init__(self, path: Path, dtype: str) -> None:
        self._path, self._dtype = path, np.dtype(dtype)

    def __len__(self) -> int:
        return self._path.stat().st_size // self._dtype.itemsize

    def __getitem__(self, key: slice) -> Array:
        start, stop, _ = key.indices(len(self))
        return np.fromfile(self._path, self._dtype, max(stop - start, 0), offset=start * self._dtype.itemsize)


class ArrayWriter:
    """Appends arrays to a file, converted to its type."""

    def __init__(self, path: Path, dtype: str) -> None:
        self._stream, self._dtype = path.open("wb"), np.dtype(dtype)

    def append(self, values: Array | Sequence[int]) -> None:
        """Append values."""
        self._stream.write(np.ascontiguousarray(values, self._dtype).data)

    def close(self) -> None:
        """Write the buffer and close the file."""
        self._stream.close()

    def __enter__(self) -> ArrayWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def write_array(path: Path, values: Array | Sequence[int], dtype: str) -> None:
    """Write a whole array."""
    with ArrayWriter(path, dtype) as writer:
        writer.append(values)


class Packed(NamedTuple):
    """Sorted byte strings in arrays.

    Attributes:
        text: uint8, the bytes of all strings.
        bounds: int64[n + 1]; the bytes of string i are ``text[bounds[i]:bounds[i + 1]]``.
        order: unsigned or int64, the strings sorted; empty if they are sorted as they lie.
    """

    text: Array
    bounds: Array
    order: Array


def packed(strings: Sequence[bytes]) -> Packed:
    """Return sorted strings as arrays."""
    bounds = np.cumsum([0, *map(len, strings)])
    return Packed(np.frombuffer(b"".join(strings), np.uint8), bounds, np.empty(0, np.uint32))


class Strings(Sequence[bytes]):
    """A list of byte strings in two files."""

    def __init__(self, text: Slices, offsets: Slices) -> None:
        self._text, self._offsets = text, offsets

    @classmethod
    def mapped(cls, folder: Path, name: str) -> Strings:
        """Open the list `name` by mapping its files into memory."""
        return cls(mapped(folder / f"{name}.bytes", "<u1"), mapped(folder / f"{name}.offsets", "<u8"))

    @classmethod
    def filed(cls, folder: Path, name: str) -> Strings:
        """Open the list `name`; its files are read at every use."""
        return cls(ArrayFile(folder / f"{name}.bytes", "<u1"), ArrayFile(folder / f"{name}.offsets", "<u8"))

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @overload
    def __getitem__(self, key: int) -> bytes: ...
    @overload
    def __getitem__(self, key: slice) -> list[bytes]: ...
    def __getitem__(self, key: int | slice) -> bytes | list[bytes]:
        if isinstance(key, slice):
            start, stop, _ = key.indices(len(self))
            return self._between(start, max(stop, start))
        if not 0 <= key < len(self):
            raise IndexError(key)
        start, stop = self._offsets[key : key + 2].tolist()
        return self._text[start:stop].tobytes()  # type: ignore[no-any-return]

    def text(self, place: int) -> str:
        """Return the string at `place` as text, without a copy of its bytes in memory; for a mapped list."""
        start, stop = self._offsets[place : place + 2].tolist()
        return str(self._text[start:stop], "utf-8")

    def gathered(self, places: NDArray[np.integer]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return (the bytes of the strings at `places`, their offsets int64[n + 1]); for a mapped list."""
        starts, ends = self._offsets[places].astype(np.int64), self._offsets[places + 1].astype(np.int64)
        bounds = np.concatenate(([0], np.cumsum(ends - starts)))
        return self._text[np.repeat(starts - bounds[:-1], ends - starts) + np.arange(bounds[-1])], bounds

    def decoded(self, places: NDArray[np.integer]) -> list[str]:
        """Return the strings at `places` as text; for a mapped list."""
        if len(places) < _FEW:
            starts, ends = self._offsets[places].tolist(), self._offsets[places + 1].tolist()
            return [str(self._text[a:b], "utf-8") for a, b in zip(starts, ends, strict=True)]
        text, bounds = self.gathered(places)
        gathered = text.tobytes()
        if gathered.isascii():  # offsets of bytes and characters are equal: decode once, slice often
            characters = gathered.decode()
            return [characters[a:b] for a, b in pairwise(bounds.tolist())]
        return [gathered[a:b].decode() for a, b in pairwise(bounds.tolist())]

    def between(self, first: int, last: int) -> tuple[Array, Array]:
        """Return (the bytes of the strings ``[first:last]``, their bounds in the list, uint64[n + 1])."""
        bounds = self._offsets[first : last + 1]
        return self._text[int(bounds[0]) : int(bounds[-1])], bounds

    def __iter__(self) -> Iterator[bytes]:
        for first in range(0, len(self), _BLOCK):
            offsets = self._offsets[first : first + _BLOCK + 1]
            start = 0
            while start < len(offsets) - 1:  # a block of strings, or of bytes if these are long
                limit = int(offsets[start]) + _COPIED
                stop = max(int(np.searchsorted(offsets, np.uint64(limit), side="right")) - 1, start + 1)
                yield from self._between(first + start, first + stop)
                start = stop

    @property
    def packed(self) -> Packed:
        """The strings of a mapped, sorted list, as arrays."""
        return Packed(self._text[:], self._offsets[:].view(np.int64), np.empty(0, np.uint32))

    def find(self, string: bytes) -> int | None:
        """Return the place of a string in a sorted list; None if it is missing."""
        place = bisect_left(self, string)
        return place if place < len(self) and self[place] == string else None

    def _between(self, start: int, stop: int) -> list[bytes]:
        offsets = self._offsets[start : stop + 1].tolist()
        text = self._text[offsets[0] : offsets[-1]].tobytes()
        first = offsets[0]
        return [text[a - first : b - first] for a, b in pairwise(offsets)]


class StringsWriter:
    """Appends byte strings to a list in two files."""

    def __init__(self, folder: Path, name: str) -> None:
        self._text = (folder / f"{name}.bytes").open("wb")
        self._offsets = ArrayWriter(folder / f"{name}.offsets", "<u8")
        self._end = 0

    def extend(self, strings: Sequence[bytes]) -> None:
        """Append strings."""
        self._text.write(b"".join(strings))
        self._add(np.cumsum(np.fromiter(map(len, strings), np.uint64, len(strings)), dtype=np.uint64))

    def extend_joined(self, text: bytes | memoryview, bounds: NDArray[np.int64]) -> None:
        """Append strings that lie one after another, with their bounds, int64[n + 1]."""
        self._text.write(text)
        self._add(bounds[1:].astype(np.uint64))

    def extend_gathered(self, text: NDArray[np.uint8], bounds: NDArray[np.int64]) -> None:
        """Append strings from `Strings.gathered`."""
        self.extend_joined(text.data, bounds)

    def extend_between(self, strings: Strings, first: int, last: int) -> None:
        """Append the strings ``[first:last]`` of another list, which is mapped."""
        text, bounds = strings.between(first, last)
        for begin in range(0, len(text), _COPIED):
            self._text.write(text[begin : begin + _COPIED].data)
        self._add(bounds[1:] - bounds[0])

    def extend_from(self, folder: Path, name: str) -> None:
        """Append all strings of another list."""
        with (folder / f"{name}.bytes").open("rb") as source:
            shutil.copyfileobj(source, self._text, 1 << 20)
        self._add(ArrayFile(folder / f"{name}.offsets", "<u8")[1:])

    def _add(self, ends: Array) -> None:
        self._offsets.append(ends + np.uint64(self._end))
        self._end += int(ends[-1]) if len(ends) else 0

    def __enter__(self) -> StringsWriter:
        try:
            self._offsets.append([0])
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self._close()

    def _close(self) -> None:
        try:
            self._text.close()
        finally:
            self._offsets.close()


def write_strings(folder: Path, name: str, strings: Iterable[bytes]) -> None:
    """Write a whole list."""
    with StringsWriter(folder, name) as writer:
        writer.extend(list(strings))
