"""Result of an analysis: the numbers, a table of them, and a plot."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from longrank.errors import printable
from longrank.evaluation.render import aligned, with_notes
from longrank.storage import atomic_write
from longrank.types import Notes

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class Analysis(Generic[T]):
    """Result of an analysis.

    Attributes:
        values: the numbers.
        text: tables of them, to print.
        record: inputs and numbers, as the JSON file holds them.
        plot: draws the numbers into a file.
        notes: remarks on the inputs.
    """

    values: T
    text: str
    record: Mapping[str, Any]
    plot: Callable[[Path], object]
    notes: Notes = field(default_factory=Notes)

    def write(self, path: str | Path) -> None:
        """Write inputs and numbers as JSON.

        Raises:
            InputError: the folder does not exist or cannot be written to.
        """
        with atomic_write(Path(path), "w") as stream:
            stream.write(json.dumps(self.record, default=_plain, ensure_ascii=False, indent=1) + "\n")

    def draw(self, path: str | Path) -> None:
        """Draw the numbers into a .svg, .png or .pdf file.

        Raises:
            InputError: another kind of file.
            MissingExtra: matplotlib is not installed.
        """
        self.plot(Path(path))

    def __repr__(self) -> str:
        return with_notes(self.notes, self.text)


def columns(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, its first column aligned to the left and the others to the right."""
    return aligned([list(map(printable, line)) for line in (head, *rows)])


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} is no part of a result")
