"""Rows of a file by number, without reading the others: training on them resumes and is shared out like any samples."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.formats.jsonl import parse_object
from longrank.formats.lines import Line
from longrank.training.passage_data.rows import Row, row_of
from longrank.training.samples import place_in_pass
from longrank.types import Notes

_CHUNK = 1 << 24


class RowFile:
    """The rows of a file that `write_rows` has written: ``rows[i]`` is line i + 1, in eight bytes of memory each."""

    def __init__(self, path: Path, notes: Notes) -> None:
        """Find the lines; they are read and checked when they are asked for.

        Raises:
            InputError: no such file, a folder, a packed file, or one without lines.
        """
        self._path, self._notes = path, notes
        if path.name.lower().endswith(".gz"):
            raise InputError("rows are read by number, which a packed file does not allow", path=path, fix="unpack it")
        try:
            with path.open("rb") as file:
                if not path.stat().st_size:
                    raise InputError("holds no row", path=path)
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}", path=path) from None
        self._ends = _line_ends(self._bytes)

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, i: int) -> Row:
        """Return the row of line i + 1.

        Raises:
            IndexError: there is no such line.
            InputError: as `read_rows`; a blank line is no row.
        """
        i = range(len(self))[i]
        start = int(self._ends[i - 1]) if i else 0
        try:
            text = self._bytes[start : int(self._ends[i])].decode()
        except UnicodeDecodeError:
            raise InputError("is not UTF-8", path=self._path, line=i + 1) from None
        line = Line(i + 1, text.rstrip("\r\n"), True)
        return row_of(parse_object(line, self._path, self._notes), line, self._path)


def _line_ends(content: mmap.mmap) -> NDArray[np.int64]:
    """Return where each line ends, int64[rows]; the last one may lack its line end."""
    whole = np.frombuffer(content, dtype=np.uint8)
    starts = range(0, len(whole), _CHUNK)
    ends = np.concatenate([at + np.flatnonzero(whole[at : at + _CHUNK] == ord("\n")) + 1 for at in starts])
    return ends if len(ends) and ends[-1] == len(whole) else np.append(ends, len(whole))


class RowSamples:
    """Rows in passes without end, each in another order: ``samples[n]`` is a function of (seed, n)."""

    def __init__(self, rows: RowFile, seed: int) -> None:
        self._rows, self._seed = rows, seed

    def __len__(self) -> int:
        """Return how many rows one pass has."""
        return len(self._rows)

    def __getitem__(self, n: int) -> Row:
        """Return the n-th row, counted over all passes.

        Raises:
            IndexError: n < 0.
            InputError: as `read_rows`.
        """
        return self._rows[place_in_pass(n, len(self._rows), self._seed)]
