"""Counts texts of which something is cut, each once, however often a training reads it."""

from __future__ import annotations

from longrank.types import Notes

_SHOWN = 40  # characters of a text that is named


class Cuts:
    """What was cut so far.

    Args:
        notes: where it is counted.
    """

    def __init__(self, notes: Notes) -> None:
        self._notes, self._seen = notes, set[int]()

    def add(self, what: str, text: str, cut: bool) -> None:
        """Count a text under `what` if it is cut and has not been counted there before."""
        if cut and (key := hash((what, text))) not in self._seen:
            self._seen.add(key)
            self._notes.add(what, text[:_SHOWN])
