"""Remarks on accepted input, counted by kind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from threading import Lock

_ADDING = Lock()  # of all notes: a lock of an object could not be pickled
os.register_at_fork(after_in_child=_ADDING._at_fork_reinit)  # type: ignore[attr-defined]  # as the standard library does


class Notes:
    """Counts remarks on accepted input, so that nothing is skipped, capped or repaired silently.

    Readers and scorers call `add`; the command line prints `lines()` once at the end. Several threads may add: so
    remarks are read in a copy of the dictionary, which is one step, where a list of its items is not.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._first: dict[str, str] = {}

    def add(self, kind: str, where: str = "", count: int = 1) -> None:
        """Count remarks of a kind; the place of the first remark is kept as the example."""
        if count > 0:
            self._count(kind, count)
            self._first.setdefault(kind, where)

    def _count(self, kind: str, count: int) -> None:
        with _ADDING:
            self._counts[kind] = self._counts.get(kind, 0) + count

    def say(self, kind: str) -> None:
        """Keep a remark without a count, such as a choice made for the user."""
        self._counts.setdefault(kind, 0)

    def drop(self, kind: str) -> None:
        """Forget the remarks of a kind, which no longer hold."""
        self._counts.pop(kind, None)
        self._first.pop(kind, None)

    def merge(self, later: Notes, part: str = "") -> None:
        """Add all remarks of `later`, after the remarks so far; `part` is put before each."""
        before = f"{part}: " if part else ""
        for kind, count in later._counts.copy().items():
            self._count(before + kind, count)
        for kind, first in later._first.copy().items():
            self._first.setdefault(before + kind, first)

    def copy(self, *, places: bool = True) -> Notes:
        """Return the remarks so far; without `places`, only kinds and counts."""
        copied = Notes()
        copied.merge(self)
        if not places:
            copied._first.clear()
        return copied

    def since(self, before: Notes) -> Notes:
        """Return the remarks that were added after `before`, a copy of these; first places are those of this object."""
        added = Notes()
        for kind, count in self._counts.copy().items():
            if kind not in before._counts or count > before[kind]:
                added._counts[kind] = count - before[kind]
                added._first |= {kind: self._first[kind]} if kind in self._first else {}
        return added

    def __iter__(self) -> Iterator[str]:
        return iter(self.lines())

    def __contains__(self, kind: object) -> bool:
        return kind in self._counts

    def __getitem__(self, kind: str) -> int:
        return self._counts.get(kind, 0)

    def __repr__(self) -> str:
        return f"Notes({self.lines()})"

    def lines(self) -> list[str]:
        """Return one readable line per kind, e.g. ``"tied scores: 3 (first: run.txt:7)"``."""
        return [self._line(kind, count) for kind, count in self._counts.copy().items()]

    def _line(self, kind: str, count: int) -> str:
        if count == 0:
            return kind
        first = self._first.get(kind)
        return f"{kind}: {count}" + (f" (first: {first})" if first else "")
