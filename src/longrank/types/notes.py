"""Remarks on accepted input, counted by kind."""

from __future__ import annotations


class Notes:
    """Counts what was accepted with a remark, so that nothing is skipped, capped or repaired silently.

    Readers and scorers call `add`; whoever talks to the user prints `lines()` once at the end.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._first: dict[str, str] = {}

    def add(self, what: str, where: str = "", count: int = 1) -> None:
        """Count one remark of the kind `what`; `where` of the first one is kept as the example."""
        if count < 1:
            return
        self._counts[what] = self._counts.get(what, 0) + count
        self._first.setdefault(what, where)

    def say(self, what: str) -> None:
        """Keep a remark that is not counted, such as a choice made on the user's behalf."""
        self._counts.setdefault(what, 0)

    def merge(self, later: Notes, part: str = "") -> None:
        """Add all remarks of another, as if they were made now; of a part of the work, with its name before each."""
        before = f"{part}: " if part else ""
        for what, count in later._counts.items():
            self._counts[before + what] = self._counts.get(before + what, 0) + count
        for what, first in later._first.items():
            self._first.setdefault(before + what, first)

    def __getitem__(self, what: str) -> int:
        return self._counts.get(what, 0)

    def lines(self) -> list[str]:
        """Return one readable line per kind, e.g. ``"tied scores: 3 (first: run.txt:7)"``."""
        return [self._line(what, count) for what, count in self._counts.items()]

    def _line(self, what: str, count: int) -> str:
        if count == 0:
            return what
        first = self._first.get(what)
        return f"{what}: {count}" + (f" (first: {first})" if first else "")
