"""Metadata of documents: the fields of a record that are no part of its text, as JSON values."""

from __future__ import annotations

import datetime
import json
import math
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np

from longrank.types import Notes

_NOT_JSON = object()
_TOO_LARGE = 10**4300  # Python writes integers of 4,300 digits at most


def metadata_of(values: Mapping[str, Any], names: Iterable[str], notes: Notes, where: str) -> dict[str, Any]:
    """Return some fields of a record as JSON values; null, NaN and NaT mean that a field is missing.

    Args:
        values: the record.
        names: fields to keep.
        notes: counts values that have no JSON form; they are left out.
        where: place of the record, for the notes.
    """
    kept = {}
    for name in names:
        try:
            value = json_value(values[name])
        except RecursionError:
            value = _NOT_JSON
        if value is _NOT_JSON:
            notes.add("metadata values that are not JSON values, left out", f"{where}: {name}")
        elif value is not None:
            kept[name] = value
    return kept


def json_value(value: Any) -> Any:
    """Return a value as JSON has it: dates and times as ISO 8601, numbers of NumPy and decimals as numbers.

    NaN, NaT and NA give None. Values without a JSON form give a mark that `metadata_of` leaves out.
    """
    if is_missing(value):
        return None
    if isinstance(value, str | bool):
        return value
    if isinstance(value, list | tuple | Mapping):
        return _container(value)
    if isinstance(value, int | float | Decimal) and not isinstance(value, np.generic):
        return _number(value)
    return _of_library(value)


def is_missing(value: Any) -> bool:
    """Tell whether a value is null, or NaN, NaT or NA, which stand for null in tables of pandas."""
    is_nan = isinstance(value, float) and math.isnan(value)
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def _number(value: float | Decimal) -> Any:
    if isinstance(value, Decimal):
        if not value.is_finite() or value.copy_abs() >= _TOO_LARGE:
            return None if value.is_nan() else _NOT_JSON
        return _number(int(value) if value == value.to_integral_value() else float(value))
    if isinstance(value, int):
        return value if abs(value) < _TOO_LARGE else _NOT_JSON
    return None if math.isnan(value) else value if math.isfinite(value) else _NOT_JSON


def _of_library(value: Any) -> Any:
    if isinstance(value, datetime.date):  # NaT of pandas is a date, too
        return _iso(value) if value == value else None  # noqa: PLR0124
    if isinstance(value, datetime.time | uuid.UUID):
        return str(value)
    if isinstance(value, np.generic | np.ndarray):
        return _of_numpy(value)
    item = getattr(value, "tolist", None)  # arrays of other libraries
    return json_value(item()) if callable(item) else _NOT_JSON


def _of_numpy(value: Any) -> Any:
    kind = value.dtype.kind
    if kind in "mM":
        return _times(value)
    return json_value((value.astype(np.float64) if kind == "f" else value).tolist())  # a long double would stay one


def _times(value: Any) -> Any:
    """Return dates and times of Python's calendar; a duration has no JSON form, and NaT is missing."""
    known = np.ravel(value)[~np.isnat(np.ravel(value))]
    if not known.size:
        return np.full(value.shape, None).tolist()
    if value.dtype.kind == "m":
        return _NOT_JSON
    years = known.astype("datetime64[Y]").astype(np.int64) + 1970
    if ((years < datetime.MINYEAR) | (years > datetime.MAXYEAR)).any():
        return _NOT_JSON
    unit = "D" if np.datetime_data(value.dtype)[0] in ("Y", "M", "W", "D") else "us"  # nanoseconds would be integers
    return json_value(value.astype(f"datetime64[{unit}]").tolist())


def _iso(value: datetime.date) -> Any:
    """Return a date or time as ISO 8601; a time of a known offset in UTC, so that texts compare as times do."""
    if not datetime.MINYEAR <= value.year <= datetime.MAXYEAR:  # of pandas
        return _NOT_JSON
    if isinstance(value, datetime.datetime) and value.utcoffset() is not None:
        with suppress(OverflowError):  # at the ends of the calendar, the offset stays
            value = value.astimezone(datetime.UTC)
    return value.isoformat()


def _container(value: list[Any] | tuple[Any, ...] | Mapping[Any, Any]) -> Any:
    if isinstance(value, Mapping):
        parts = {str(key): json_value(part) for key, part in value.items()}
        lost = len(parts) < len(value)  # 1 and "1"
        return _NOT_JSON if lost or any(part is _NOT_JSON for part in parts.values()) else parts
    items = [json_value(part) for part in value]
    return _NOT_JSON if any(part is _NOT_JSON for part in items) else items


def json_text(metadata: Mapping[str, Any]) -> str:
    """Return metadata as a JSON object on one line; empty without metadata. Equal values give equal texts."""
    return json.dumps(metadata, ensure_ascii=False, separators=(",", ":"), allow_nan=False) if metadata else ""
