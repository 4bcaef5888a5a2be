"""Notes of a first stage, which a copy of it may keep elsewhere."""

from __future__ import annotations

from copy import copy
from typing import Self

from longrank.types import Notes


class Noting:
    """A first stage with notes.

    Attributes:
        notes: notes of the first stage.
    """

    notes: Notes

    def noting(self, notes: Notes) -> Self:
        """Return the same first stage with other notes."""
        retriever = copy(self)
        retriever.notes = notes
        return retriever
