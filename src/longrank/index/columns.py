"""The values of a metadata field in all documents, as places in the sorted list of its distinct values."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

KINDS = ("true or false", "numbers", "text", "objects")
"""Kinds of values, in the order of a column."""
TEXT, OBJECT = 2, 3
"""Places of text and objects in `KINDS`."""


class Scalar(NamedTuple):
    """A value and its kind, a place in `KINDS`: so true and 1 differ, and 1 and 1.0 are equal."""

    kind: int
    value: Any


def scalar(value: Any) -> Scalar:
    """Return a JSON value with its kind; lists and objects within a list are objects."""
    if isinstance(value, bool):
        return Scalar(0, value)
    if isinstance(value, int | float):
        return Scalar(1, value)
    if isinstance(value, str):
        return Scalar(TEXT, value)
    return Scalar(OBJECT, 0)


class Column:
    """A field of all documents; a document with a list has each of its items.

    Attributes:
        name: name of the field.
        values: the V distinct values, sorted: false and true, numbers, texts by code points; objects are one value.
        docs: uint32[n], documents, ascending; a document with several values comes several times.
        codes: uint32[n], places in `values`.
        existing: bool[D], True for documents with the field, an empty list included.
        kinds: kinds of the values, places in `KINDS`.
    """

    def __init__(self, name: str, docs: NDArray[np.uint32], cells: Sequence[Any], n_docs: int) -> None:
        self.name, self._n_docs = name, n_docs
        self.existing = np.zeros(n_docs, np.bool_)
        self.existing[docs] = True
        docs, items = _items(docs, cells)
        self.values, codes = _coded(items)
        self.kinds = {value.kind for value in self.values}
        if (np.diff(docs.astype(np.int64)) == 0).any():  # each value of a document once
            docs, codes = np.unique(np.stack([docs, codes]), axis=1)
        self.docs, self.codes = docs, codes
        self._dense = np.array_equal(docs, np.arange(n_docs))
        self._without: dict[tuple[int, ...], int] = {}

    def between(self, low: Scalar | None, high: Scalar | None, *, with_low: bool, with_high: bool) -> slice:
        """Return the places of the values of one kind between two values; at least one of the two is given."""
        bound = low or high
        assert bound is not None
        first = (bisect_left if with_low else bisect_right)(self.values, low or (bound.kind,))
        last = (bisect_right if with_high else bisect_left)(self.values, high or (bound.kind + 1,))
        return slice(first, max(first, last))

    def having(self, places: Sequence[slice]) -> NDArray[np.bool_]:
        """Return bool[D], True for the documents with any of these values."""
        wanted = np.zeros(len(self.values), np.bool_)
        for some in places:
            wanted[some] = True
        if self._dense:
            dense: NDArray[np.bool_] = wanted[self.codes]
            return dense
        mask = np.zeros(self._n_docs, np.bool_)
        mask[self.docs[wanted[self.codes]]] = True
        return mask

    def without(self, kinds: set[int]) -> int:
        """Return the number of documents that have values, but none of some kinds."""
        key = tuple(sorted(kinds))
        if key not in self._without:
            ends = [(bisect_left(self.values, (kind,)), bisect_left(self.values, (kind + 1,))) for kind in key]
            self._without[key] = int((self.having([slice(None)]) & ~self.having([slice(*end) for end in ends])).sum())
        return self._without[key]

    def counts(self, mask: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """Return int64[V], the number of documents with each value, among the documents of a mask."""
        codes = self.codes if mask is None else self.codes[mask[self.docs]]
        return np.bincount(codes, minlength=len(self.values))


def _items(docs: NDArray[np.uint32], cells: Sequence[Any]) -> tuple[NDArray[np.uint32], Sequence[Any]]:
    """Return every value and its document; of lists, every item that is not null."""
    if not any(isinstance(cell, list) for cell in cells):
        return docs, cells
    lists = [[item for item in cell if item is not None] if isinstance(cell, list) else [cell] for cell in cells]
    counts = np.fromiter(map(len, lists), np.int64, len(lists))
    return np.repeat(docs, counts), [value for values in lists for value in values]


def _coded(items: Sequence[Any]) -> tuple[list[Scalar], NDArray[np.uint32]]:
    """Return the distinct values, sorted, and the place of each item in them."""
    types = set(map(type, items))
    if not (
        types <= {int, float} or types in ({str}, {bool})
    ):  # sorted and looked up with their kinds, which is slower
        items = [scalar(item) for item in items]
    distinct = sorted(set(items))
    places = {value: place for place, value in enumerate(distinct)}
    codes = np.fromiter(map(places.__getitem__, items), np.uint32, len(items))
    return [value if isinstance(value, Scalar) else scalar(value) for value in distinct], codes
