"""Filters of documents by metadata, in the notation that Chroma, Pinecone and LangChain share.

    {"year": {"$gte": 2020}, "lang": {"$in": ["en", "de"]}}
    {"$or": [{"author": "Codd"}, {"cited": {"$exists": false}}]}

`longrank.index.filter_parsing` parses filters. A filter becomes a mask of the documents; no part of it is SQL.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.index.columns import KINDS, TEXT, Column, Scalar
from longrank.types import Notes

Mask = NDArray[np.bool_]

RANGES = ("$gt", "$gte", "$lt", "$lte")

_TIME = re.compile(r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:.+))?")
_MIDNIGHT = re.compile(r"00:00(:00(\.0+)?)?(Z|\+00:00)?")
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

    def conditions(self) -> Iterator[AnyValue]:
        """Yield the conditions on values."""
        yield from ()


def note_other_kinds(filter: Filter, columns: Columns, notes: Notes) -> None:
    """Count the documents whose field holds only values of other kinds than the filter compares it with."""
    kinds: dict[str, set[int]] = {}
    for condition in filter.conditions():
        kinds.setdefault(condition.field, set()).update(value.kind for value in condition.values)
    for field, given in kinds.items():
        column = columns.column(field)
        if others := column.kinds - given:
            kind = f"documents whose '{field}' is {_named(others)}, not {_named(given)} as in the filter"
            notes.add(kind, count=column.without(given))


def _named(kinds: set[int]) -> str:
    return " and ".join(KINDS[kind] for kind in sorted(kinds))


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

    def conditions(self) -> Iterator[AnyValue]:
        """Yield the condition itself."""
        yield self

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
        time = _TIME.fullmatch(value.value) if value.kind == TEXT else None
        if time is not None:
            return _places_of_times(column, self.operator, time[1], time[2])
        if self.operator == "$in":
            return [column.between(value, value, with_low=True, with_high=True)]
        low, high = (None, value) if self.operator in ("$lt", "$lte") else (value, None)
        return [column.between(low, high, with_low=self.operator != "$gt", with_high=self.operator == "$lte")]

    def _check(self, value: Scalar, kinds: set[int]) -> None:
        if kinds and value.kind not in kinds:
            fix = f"the field holds {_named(kinds)}"
            fix += ', e.g. "2020"' if TEXT in kinds and value.kind == 1 else ""
            raise InputError(f"{self.place}: no document has such a value", got=value.value, fix=fix)


def _places_of_times(column: Column, operator: str, day: str, time: str | None) -> list[slice]:
    """Return the places of dates and times that equal a date or a time, or lie before or after it.

    A date in a filter means its whole day; a date of a document is the beginning of its day. Times come after a blank
    or a T. Other texts that begin with the day, such as ``2020-05-06-draft``, lie after its times, before the next day.
    """

    def between(low: str | None, high: str | None, *, with_low: bool = True, with_high: bool = True) -> slice:
        ends = (None if end is None else Scalar(TEXT, end) for end in (low, high))
        return column.between(*ends, with_low=with_low, with_high=with_high)

    equal, is_begin = operator in ("$in", "$lte", "$gte"), time is None or _MIDNIGHT.fullmatch(time) is not None
    first, last = time or "", _LAST if time is None else time
    begin = [between(day, day)] if is_begin else []
    if operator == "$in":
        return [*begin, *(between(day + before + first, day + before + last) for before in " T")]
    if operator in ("$lt", "$lte"):
        end = last if operator == "$lte" else first
        times = [between(day + before, day + before + end, with_high=equal) for before in " T"]
        return [between(None, day, with_high=equal or not is_begin), *times]
    start = first if operator == "$gte" else last
    times = [between(day + before + start, day + before + _LAST, with_low=equal) for before in " T"]
    ends = [(day, day + " "), (day + " " + _LAST, day + "T"), (day + "T" + _LAST, None)]
    others = [between(low, high, with_low=False, with_high=False) for low, high in ends]
    return [*(begin if equal else []), *times, *others]


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

    def conditions(self) -> Iterator[AnyValue]:
        """Yield the conditions of the part."""
        return self.part.conditions()


@dataclass(frozen=True)
class Every(Filter):
    """The documents that match all parts; without parts, all documents."""

    parts: tuple[Filter, ...]

    def mask(self, columns: Columns) -> Mask:
        """Return the documents that match all parts."""
        return reduce(np.logical_and, (part.mask(columns) for part in self.parts), np.ones(columns.n_docs, np.bool_))

    def conditions(self) -> Iterator[AnyValue]:
        """Yield the conditions of all parts."""
        return chain.from_iterable(part.conditions() for part in self.parts)


@dataclass(frozen=True)
class Some(Filter):
    """The documents that match any part."""

    parts: tuple[Filter, ...]

    def mask(self, columns: Columns) -> Mask:
        """Return the documents that match any part."""
        return reduce(np.logical_or, (part.mask(columns) for part in self.parts))

    def conditions(self) -> Iterator[AnyValue]:
        """Yield the conditions of all parts."""
        return chain.from_iterable(part.conditions() for part in self.parts)
