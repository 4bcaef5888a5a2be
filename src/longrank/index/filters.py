"""Filters of documents by metadata, in the notation that Chroma, Pinecone and LangChain share.

    {"year": {"$gte": 2020}, "lang": {"$in": ["en", "de"]}}
    {"$or": [{"author": "Codd"}, {"cited": {"$exists": false}}]}

`longrank.index.filter_parsing` parses filters. A filter becomes a mask of the documents; no part of it is SQL.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import reduce
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.index.columns import KINDS, TEXT, Column, Scalar

Mask = NDArray[np.bool_]

RANGES = ("$gt", "$gte", "$lt", "$lte")

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_LAST = chr(0x10FFFF)


class Columns(Protocol):
    """The metadata of an index: documents, fields and their values."""

    n_docs: int
    fields: list[str]

    def column(self, name: str) -> Column:
        """Return the values of a field, or raise InputError."""


class Filter(ABC):
    """A parsed filter; equal filters are equal and hashable."""

    @abstractmethod
    def mask(self, columns: Columns) -> Mask:
        """Return bool[D], True for the documents that match.

        Raises:
            InputError: a field that no document has, or values of another kind than the documents'.
        """


@dataclass(frozen=True)
class AnyValue(Filter):
    """The documents whose field has one of some values, or a value in a range.

    Attributes:
        field: name of the field.
        operator: ``$in`` or one of `RANGES`.
        values: the values; for a range, its bound.
        place: place in the user's filter, for messages.
    """

    field: str
    operator: str
    values: tuple[Scalar, ...]
    place: str

    def mask(self, columns: Columns) -> Mask:
        """Return the documents with such a value."""
        try:
            column = columns.column(self.field)
        except InputError as error:
            raise InputError(f"{self.place}: {error.what}", got=error.got, fix=error.fix) from None
        for value in self.values:
            self._check(value, column.kinds)
        return column.having([places for value in self.values for places in self._places(column, value)])

    def _places(self, column: Column, value: Scalar) -> list[slice]:
        """Return the places of a value in a column; a date means all times of the day, after a blank or T."""
        times = [_times(value, before) for before in " T"] if _is_day(value) else []
        if self.operator == "$in":
            return [column.between(*ends, with_low=True, with_high=True) for ends in ((value, value), *times)]
        if times and self.operator in ("$gt", "$lte"):
            value = times[-1][1]
        low, high = (None, value) if self.operator in ("$lt", "$lte") else (value, None)
        return [column.between(low, high, with_low=self.operator != "$gt", with_high=self.operator == "$lte")]

    def _check(self, value: Scalar, kinds: set[int]) -> None:
        if kinds and value.kind not in kinds:
            held = " and ".join(KINDS[kind] for kind in sorted(kinds))
            fix = f"the field holds {held}"
            fix += ', e.g. "2020"' if TEXT in kinds and value.kind == 1 else ""
            raise InputError(f"{self.place}: no document has such a value", got=value.value, fix=fix)


def _is_day(value: Scalar) -> bool:
    return value.kind == TEXT and _DAY.fullmatch(value.value) is not None


def _times(day: Scalar, before: str) -> tuple[Scalar, Scalar]:
    """Return the first and the last text that can be a time of a day."""
    return Scalar(TEXT, day.value + before), Scalar(TEXT, day.value + before + _LAST)


@dataclass(frozen=True)
class Exists(Filter):
    """The documents that have a field."""

    field: str

    def mask(self, columns: Columns) -> Mask:
        """Return the documents that have the field."""
        if self.field not in columns.fields:
            return np.zeros(columns.n_docs, np.bool_)
        return columns.column(self.field).existing


@dataclass(frozen=True)
class Empty(Filter):
    """The documents whose field is a list without items."""

    field: str

    def mask(self, columns: Columns) -> Mask:
        """Return the documents that have the field, and no value of it."""
        mask = Exists(self.field).mask(columns)
        if mask.any():
            mask = mask.copy()
            mask[columns.column(self.field).docs] = False
        return mask


@dataclass(frozen=True)
class Not(Filter):
    """The documents that do not match."""

    part: Filter

    def mask(self, columns: Columns) -> Mask:
        """Return the documents that do not match."""
        return ~self.part.mask(columns)


@dataclass(frozen=True)
class Every(Filter):
    """The documents that match all parts; without parts, all documents."""

    parts: tuple[Filter, ...]

    def mask(self, columns: Columns) -> Mask:
        """Return the documents that match all parts."""
        return reduce(np.logical_and, (part.mask(columns) for part in self.parts), np.ones(columns.n_docs, np.bool_))


@dataclass(frozen=True)
class Some(Filter):
    """The documents that match any part."""

    parts: tuple[Filter, ...]

    def mask(self, columns: Columns) -> Mask:
        """Return the documents that match any part."""
        return reduce(np.logical_or, (part.mask(columns) for part in self.parts))
