"""Iterate over values in memory: the rows of lists, mappings and tables (pandas or alike)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from longrank.errors import InputError
from longrank.types import Run, is_frame, rows_of

EMPTY = "the list is empty, or its iterator was read before"


def rows(source: Any, kind: str, fix: str) -> Iterator[Any]:
    """Yield the items of an iterable, the rows of a table as mappings, or (key, value) pairs.

    Pairs are those of a mapping, or of a pandas Series, whose index has the keys.

    Raises:
        InputError: another kind of value, or a text, bytes or a run: their items are characters or query ids.
    """
    if is_frame(source):
        return rows_of(source)
    if isinstance(source, Mapping):
        return iter(source.items())
    if hasattr(source, "items") and hasattr(source, "to_frame") and not isinstance(source, Run):
        return iter(source.items())
    if isinstance(source, str | bytes | bytearray | Run) or not isinstance(source, Iterable):
        raise InputError(f"no {kind} can be read from a {type(source).__name__}", got=source, fix=fix)
    return iter(source)
