"""Strings on disk, more than fit into memory, each found by any of its keys.

    strings            in the order of `add`
    hashes, numbers    hash of a key and number of its string; sorted by hash in runs of `_RUN`

The files serve one process during a build: Python's hashes differ between processes. Two keys may share a hash, so
a result may belong to another key.
"""

from __future__ import annotations

import shutil
from array import array
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from longrank.index.arrays import ArrayWriter, Strings, StringsWriter, mapped

_RUN = 1 << 21  # keys sorted at a time (16 bytes each)


class SpillWriter:
    """Writes strings and their keys into a new folder.

    Attributes:
        ends: end of each run, from 0.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.ends = [0]
        self._count = 0
        self._hashes, self._numbers = array("q"), array("Q")
        self._strings = StringsWriter(folder, "strings")
        self._files = ArrayWriter(folder / "hashes", "<i8"), ArrayWriter(folder / "numbers", "<u8")

    def add(self, string: bytes, keys: Iterable[str]) -> None:
        """Write a string with its keys."""
        self._strings.extend([string])
        for key in keys:
            self._hashes.append(hash(key))
            self._numbers.append(self._count)
        self._count += 1
        if len(self._hashes) >= _RUN:
            self._write_run()

    def _write_run(self) -> None:
        hashes, numbers = np.array(self._hashes), np.array(self._numbers)
        order = np.argsort(hashes, kind="stable")  # a stable sort keeps the order of a key's strings
        for file, values in zip(self._files, (hashes, numbers), strict=True):
            file.append(values[order])
        self.ends.append(self.ends[-1] + len(order))
        self._hashes, self._numbers = array("q"), array("Q")

    def __enter__(self) -> SpillWriter:
        self._strings.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        try:
            self._write_run()
        finally:
            for file in (self._strings, *self._files):
                file.__exit__(*exc)


class Spill(Sequence[bytes]):
    """The strings of a `SpillWriter`, in order, memory-mapped."""

    def __init__(self, folder: Path, ends: Sequence[int]) -> None:
        self._folder, self._ends = folder, ends
        self._strings = Strings.mapped(folder, "strings")
        self._hashes, self._numbers = mapped(folder / "hashes", "<i8"), mapped(folder / "numbers", "<u8")

    def __len__(self) -> int:
        return len(self._strings)

    def __getitem__(self, number: int) -> bytes:  # type: ignore[override]
        return self._strings[number]

    def find(self, keys: Sequence[str]) -> list[list[int]]:
        """Return, for each key, the numbers of its strings, ascending; strings of other keys may be among them."""
        hashes = np.fromiter(map(hash, keys), np.int64, len(keys))
        numbers: list[list[int]] = [[] for _ in keys]
        for first, end in pairwise(self._ends):
            run = self._hashes[first:end]
            begins, ends = (first + np.searchsorted(run, hashes, side) for side in ("left", "right"))
            for i in np.flatnonzero(begins < ends):
                numbers[i] += self._numbers[begins[i] : ends[i]].tolist()
        return numbers

    def remove(self) -> None:
        """Delete the files; nothing can be read afterwards."""
        del self._strings, self._hashes, self._numbers  # a mapped file occupies the disk until it is unmapped
        shutil.rmtree(self._folder)
