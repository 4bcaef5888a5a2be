"""What stands on each line of a file, by number, without reading the other lines."""

from __future__ import annotations

import mmap
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.formats.jsonl import parse_object
from longrank.formats.lines import Line
from longrank.types import Notes

T = TypeVar("T")
_CHUNK = 1 << 24


class LineFile(ABC, Generic[T]):
    """A JSONL file: ``file[i]`` is what line i + 1 holds; eight bytes of memory a line."""

    def __init__(self, path: Path, notes: Notes) -> None:
        """Find the lines; they are read and checked when they are asked for.

        Raises:
            InputError: no such file, a folder, a packed file, or one without lines.
        """
        self.path, self._notes, self._noted = path, notes, set[int]()
        check_not_packed(path)
        try:
            with path.open("rb") as file:
                if not path.stat().st_size:
                    raise InputError("is empty", path=path)
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", path=path) from None
        self._ends = _line_ends(self._bytes)

    @abstractmethod
    def _parsed(self, record: dict[str, Any], line: Line) -> T:
        """Return what the object on a line is.

        Raises:
            InputError: it is nothing of the kind; names the line.
        """

    def __len__(self) -> int:
        return len(self._ends)

    def __iter__(self) -> Iterator[T]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: int) -> T:
        """Return what line i + 1 holds.

        Raises:
            IndexError: there is no such line.
            InputError: it is not what it should be; a blank line is not, either.
        """
        i = range(len(self))[i]
        start = int(self._ends[i - 1]) if i else 0
        try:
            text = self._bytes[start : int(self._ends[i])].decode("utf-8" if i else "utf-8-sig")
        except UnicodeDecodeError:
            raise InputError("is not UTF-8", path=self.path, line=i + 1) from None
        if not text.strip():
            raise InputError("is a blank line", path=self.path, line=i + 1, fix="delete it")
        line = Line(i + 1, text.rstrip("\r\n"), True)
        own = Notes()
        found = self._parsed(parse_object(line, self.path, own), line)
        if own.lines() and i not in self._noted:  # a training reads a line many times
            self._noted.add(i)
            self._notes.merge(own)
        return found


def check_not_packed(path: Path) -> None:
    """Refuse the name of a packed file, to read or to write.

    Raises:
        InputError: it is one.
    """
    if path.name.lower().endswith(".gz"):
        raise InputError("lines are read by number, which a packed file does not allow", path=path, fix="unpack it")


def _line_ends(content: mmap.mmap) -> NDArray[np.int64]:
    """Return where each line ends, int64[lines]; the last one may lack its line end."""
    whole = np.frombuffer(content, dtype=np.uint8)
    starts = range(0, len(whole), _CHUNK)
    ends = np.concatenate([at + np.flatnonzero(whole[at : at + _CHUNK] == ord("\n")) + 1 for at in starts])
    return ends if len(ends) and ends[-1] == len(whole) else np.append(ends, len(whole))
