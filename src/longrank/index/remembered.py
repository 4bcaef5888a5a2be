"""Columns and masks of metadata, remembered.

The object owns its caches, and no cache refers to the object: so its files are closed with the last reference to it,
not when the garbage collector finds a circle. A process that commits often would run out of open files before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from longrank.index.columns import Column
from longrank.index.filters import Filter

MASKS = 32  # masks kept, of one byte per document


class Remembered(ABC):
    """Metadata whose columns and latest masks are kept; safe to use from several threads.

    Attributes:
        n_docs: number of documents.
        fields: names of the fields.
    """

    n_docs: int
    fields: list[str]

    def __init__(self) -> None:
        self._columns: dict[str, Column] = {}
        self._masks: dict[Filter, NDArray[np.bool_]] = {}
        self._order = Lock()

    @abstractmethod
    def _column(self, name: str) -> Column:
        """Read the values of a field; raises as `check_field`."""

    @abstractmethod
    def check_field(self, name: str) -> None:
        """Refuse a field that no document has.

        Raises:
            InputError: suggests the nearest field.
        """

    def column(self, name: str) -> Column:
        """Return the values of a field; raises as `check_field`."""
        column = self._columns.get(name)
        if column is None:
            column = self._columns[name] = self._column(name)
        return column

    def mask(self, filter: Filter) -> NDArray[np.bool_]:
        """Return bool[D], True for the documents that match a filter; not to be changed. The latest masks are kept.

        Raises:
            InputError: a field that no document has, or values of another type than the documents'.
        """
        with self._order:
            mask = self._masks.pop(filter, None)
        if mask is None:
            mask = filter.mask(self)
            mask.flags.writeable = False
        with self._order:
            self._masks[filter] = mask
            while len(self._masks) > MASKS:
                del self._masks[next(iter(self._masks))]
        return mask
