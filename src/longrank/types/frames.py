"""Tables (pandas, polars, pyarrow or alike) in and out, without an import of pandas until a table is made."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any
from uuid import UUID

from longrank.errors import InputError


def is_frame(value: object) -> bool:
    """Tell whether a value is a table: something with named columns."""
    return hasattr(value, "columns") and hasattr(value, "__getitem__") and hasattr(value, "shape")


def column_names(frame: Any) -> list[str]:
    """Return the names of a table's columns.

    Raises:
        InputError: not a table, or two columns have the same name.
    """
    if not is_frame(frame):
        raise InputError(f"a table is needed, not a {type(frame).__name__}", got=frame)
    names = [str(label) for label in _labels(frame)]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError("the table has two columns of the same name", got=twice)
    return names


def _labels(frame: Any) -> list[Any]:
    """Return the labels of a table's columns; the `columns` of pyarrow's tables are arrays."""
    return list(frame.column_names if hasattr(type(frame), "column_names") else frame.columns)


def _values(frame: Any, label: Any) -> list[Any]:
    """Return the values of a column; those of polars and pyarrow, lists in them, too, as Python has them."""
    column = frame[label]
    if hasattr(column, "to_pylist"):
        return python_values(column)
    values = getattr(column, "to_list", None)
    return list(column) if values is None else list(values())


class Beyond:
    """Value of a type that is beyond what Python has of this type."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def __repr__(self) -> str:
        return f"a {self._kind} beyond Python's"


def python_values(column: Any) -> list[Any]:
    """Return the values of a column of pyarrow; values that Python lacks, such as dates after 9999, are `Beyond`."""
    try:
        return list(column.to_pylist())
    except (OverflowError, ValueError) as error:
        if not _is_beyond(error):
            raise
        return [_python_value(value) for value in column]


def _python_value(value: Any) -> Any:
    try:
        return value.as_py()
    except (OverflowError, ValueError) as error:
        if not _is_beyond(error):
            raise
        return Beyond(str(value.type))


def _is_beyond(error: Exception) -> bool:
    return isinstance(error, OverflowError) or "is out of range" in str(error)  # year 0 is out of range


def rows_of(frame: Any) -> Iterator[dict[str, Any]]:
    """Return the rows of a table.

    Raises:
        InputError: as `column_names`.
    """
    names = column_names(frame)
    columns = [_values(frame, label) for label in _labels(frame)]
    return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def columns_of(frame: Any, *names_of_columns: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """Return the rows of some columns of a table.

    Args:
        frame: the table.
        names_of_columns: the possible names of each column.

    Raises:
        InputError: not a table, or the table lacks a column or has it twice.
    """
    names = column_names(frame)
    columns = []
    for aliases in names_of_columns:
        name = next((alias for alias in aliases if alias in names), None)
        if name is None:
            fix = f"its columns are {', '.join(names) or 'none'}"
            raise InputError(f"the table has no column {' or '.join(aliases)}", fix=fix)
        columns.append(_values(frame, name))
    return zip(*columns, strict=True)


def id_of(value: Any, kind: str) -> str:
    """Return an id as a string; the number 7 is the id "7", and a UUID its text.

    Raises:
        InputError: neither a string nor an integer; `kind` names it.
    """
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(int(value))
    if not isinstance(value, str):
        fix = "pandas: drop rows without an id, then .astype(int)" if isinstance(value, float) else None
        raise InputError(f"{kind} is neither a string nor an integer", got=value, fix=fix)
    return value


def pandas() -> Any:
    """Import pandas.

    Raises:
        InputError: it is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise InputError("tables need pandas, which is not installed", fix="pip install pandas") from None
    return pandas
