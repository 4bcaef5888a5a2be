"""Strings on disk, more than fit into memory, each found by any of its keys.

    strings            in the order they were added
    hashes, numbers    of a key, and of the string it belongs to; sorted by hash, a run of `_RUN` at a time

It serves one process for the time of a build: hashes are Python's own, which differ between processes. Two keys may
share a hash, so what is found may be another's.
"""

from __future__ import annotations

import shutil
from array import array
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from longrank.index.arrays import ArrayWriter, Strings, StringsWriter, mapped

_RUN = 1 << 21  # keys that are sorted at a time (16 bytes each)


class SpillWriter:
    """Writes strings and their keys into a new folder.

    Attributes:
        ends: where each run ends, from 0.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.ends = [0]
        self._count = 0
        self._hashes, self._numbers = array("q"), array("Q")
        self._strings = StringsWriter(folder, "strings")
        self._files = ArrayWriter(folder / "hashes", "<i8"), ArrayWriter(folder / "numbers", "<u8")

    def add(self, string: bytes, keys: Iterable[str]) -> None:
        """Write a string that is to be found by `keys`."""
        self._strings.extend([string])
        for key in keys:
            self._hashes.append(hash(key))
            self._numbers.append(self._count)
        self._count += 1
        if len(self._hashes) >= _RUN:
            self._write_run()

    def _write_run(self) -> None:
        hashes, numbers = np.array(self._hashes), np.array(self._numbers)
        order = np.argsort(hashes, kind="stable")  # the strings of a key stay in their order
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
    """What a `SpillWriter` has written, in order; memory-mapped."""

    def __init__(self, folder: Path, ends: Sequence[int]) -> None:
        self._folder, self._ends = folder, ends
        self._strings = Strings.mapped(folder, "strings")
        self._hashes, self._numbers = mapped(folder / "hashes", "<i8"), mapped(folder / "numbers", "<u8")

    def __len__(self) -> int:
        return len(self._strings)

    def __getitem__(self, number: int) -> bytes:  # type: ignore[override]
        return self._strings[number]

    def find(self, keys: Sequence[str]) -> list[list[int]]:
        """Return, for each key, the numbers of its strings, ascending; perhaps others among them."""
        wanted = np.fromiter(map(hash, keys), np.int64, len(keys))
        found: list[list[int]] = [[] for _ in keys]
        for first, end in pairwise(self._ends):
            run = self._hashes[first:end]
            begins, ends = (first + np.searchsorted(run, wanted, side) for side in ("left", "right"))
            for i in np.flatnonzero(begins < ends):
                found[i] += self._numbers[begins[i] : ends[i]].tolist()
        return found

    def remove(self) -> None:
        """Give the disk its room back; nothing can be read afterwards."""
        del self._strings, self._hashes, self._numbers  # a mapped file takes room until it is unmapped
        shutil.rmtree(self._folder)
