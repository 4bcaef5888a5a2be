"""Metadata of the living documents of several segments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from longrank.index.columns import Column
from longrank.index.metadata import Metadata, check_field
from longrank.index.parts import Part
from longrank.index.remembered import Remembered


class LivingMetadata(Remembered):
    """Metadata of living documents; has the methods of `longrank.index.metadata.Metadata`.

    Attributes:
        fields: names of the fields that living documents have, in the order in which documents first have them.
        n_docs: living documents.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        super().__init__()
        self._parts = parts
        sizes = [part.n_living for part in parts]
        self.n_docs = sum(sizes)
        self._bases = np.cumsum([0, *sizes]).tolist()
        self.fields = self._fields()
        self._living: Callable[[int], NDArray[np.intp]] = lru_cache(None)(lambda n: np.flatnonzero(~parts[n].dead))

    def _fields(self) -> list[str]:
        fields: dict[str, None] = {}
        for part in self._parts:
            if part.metadata is not None:
                fields |= dict.fromkeys(part.metadata.firsts(part.dead))
        return list(fields)

    def of(self, number: int) -> dict[str, Any]:
        """Return the metadata of the document with a number; empty if it has none."""
        part = int(np.searchsorted(self._bases, number, side="right")) - 1
        metadata = self._parts[part].metadata
        return {} if metadata is None else metadata.of(int(self._living(part)[number - self._bases[part]]))

    def check_field(self, name: str) -> None:
        """Refuse a field that no document has.

        Raises:
            InputError: suggests the nearest field.
        """
        check_field(name, self.fields)

    def _column(self, name: str) -> Column:
        self.check_field(name)
        numbers, values = [np.empty(0, np.int64)], list[Any]()
        for part, base in zip(self._parts, self._bases, strict=False):
            if part.metadata is not None:
                docs, cells = part.metadata.cells(name)
                numbers.append((np.cumsum(~part.dead) - 1)[docs][~part.dead[docs]] + base)
                values += [cell for doc, cell in zip(docs.tolist(), cells, strict=True) if not part.dead[doc]]
        return Column(name, np.concatenate(numbers).astype(np.uint32), values, self.n_docs)


Stored: TypeAlias = Metadata | LivingMetadata


def metadata_of(parts: Sequence[Part]) -> Stored | None:
    """Return the metadata of the living documents of some segments; None if no segment has any."""
    if all(part.metadata is None for part in parts):
        return None
    if len(parts) == 1 and not parts[0].dead.any():
        return parts[0].metadata
    metadata = LivingMetadata(parts)
    return metadata if metadata.fields else None
