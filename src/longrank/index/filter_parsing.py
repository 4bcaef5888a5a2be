"""Strict parser of filters, from mappings, JSON and single conditions such as ``year>=2020``."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from longrank.errors import InputError
from longrank.formats.metadata import json_value
from longrank.formats.strict_json import Fault, explained, parse
from longrank.index.columns import Scalar, scalar
from longrank.index.filters import RANGES, AnyValue, Empty, Every, Exists, Filter, Not, Some
from longrank.registries import suggestion

OPERATORS = ("$eq", "$ne", *RANGES, "$in", "$nin", "$exists", "$not")
CONNECTIVES = ("$and", "$or", "$not")
MAX_CONDITIONS = 1000
MAX_VALUES = 10_000
MAX_NESTING = 30


def parse_filter(value: object, place: str = "filter") -> Filter:
    """Parse a filter.

    Args:
        value: a mapping: field -> value or operators, or connectives; all entries must match.
        place: name of the filter in messages.

    Raises:
        InputError: names the place in the filter, e.g. ``filter/year/$gte``.
    """
    return _Parser().all_of(value, place, 0)


def parse_json(text: str, place: str = "--filter") -> Filter:
    """Parse a filter from a JSON text.

    Raises:
        InputError: not strict JSON; or as `parse_filter`.
    """
    try:
        value = parse(text)
    except Fault as fault:
        raise InputError(f"{place}: {fault.what}", got=fault.got) from None
    except json.JSONDecodeError as error:
        fix = """e.g. '{"year": {"$gte": 2020}}'"""
        raise InputError(f"{place} {explained(error)}", got=text, fix=fix) from None
    return parse_filter(value, place)


_WHERE = re.compile(r"\s*(?P<field>[^<>=!]+?)\s*(?P<sign>>=|<=|!=|==|=|>|<|\sin\s)\s*(?P<value>.*?)\s*", re.DOTALL)
_ITEM = re.compile(r',\s*("(?:[^"\\]|\\.)*"(?=\s*(?:,|\Z))|[^,]*)', re.DOTALL)
_OF_OTHERS = ("<", ">", "=", "[", "(", "{", "'", "`")
"""Beginnings of values in other notations, such as SQL's; a text that begins so is written as JSON."""
_SIGNS = {"=": "$eq", "==": "$eq", "!=": "$ne", ">": "$gt", ">=": "$gte", "<": "$lt", "<=": "$lte", "in": "$in"}


def parse_where(text: str) -> Filter:
    """Parse one condition: a field, a sign (= != > >= < <= in) and a value; ``in`` takes values between commas.

    A value that is a JSON number, true, false or a quoted text is one; any other value is text, unless it begins with
    a sign that other notations put there: ``<>``, ``'en'``, ``[en, de]``.

    >>> parse_where("year>=2020")
    AnyValue(field='year', operator='$gte', values=(Scalar(kind=1, value=2020),), place="--where 'year>=2020'")

    Raises:
        InputError: another shape, or a value of another notation.
    """
    field, operator, value = _where(text)
    return _Parser().condition(field, operator, value, f"--where '{text}'", 0)


def filter_json(filter: str | None, where: Sequence[str] = ()) -> Mapping[str, Any] | None:
    """Return the filter of both notations as JSON values, as ``POST /search`` takes it; None without any.

    Raises:
        InputError: as `parsed_filter`.
    """
    if parsed_filter(filter, where) is None:
        return None
    parts = [] if filter is None else [json.loads(filter)]
    parts += [{field: {operator: value}} for field, operator, value in map(_where, where)]
    return parts[0] if len(parts) == 1 else {"$and": parts}


def _where(text: str) -> tuple[str, str, Any]:
    """Return field, operator and value of a condition."""
    match = _WHERE.fullmatch(text)
    if match is None or not match["value"]:
        raise InputError("--where takes FIELD, one of = != > >= < <= in, and VALUE", got=text, fix="e.g. 'year>=2020'")
    operator = _SIGNS[match["sign"].strip()]
    return match["field"], operator, _values(match["value"]) if operator == "$in" else _value(match["value"])


def _values(text: str) -> list[Any]:
    """Return the values between commas; a comma within a quoted text separates none."""
    return [_value(item.strip()) for item in _ITEM.findall(f",{text}")]


def _value(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, str | bool | int | float) and not _infinite(value):
        return value
    if text.startswith(_OF_OTHERS):
        fix = """'lang in en,de', 'lang != en' or, if the value begins so, 'lang = "[en]"'"""
        raise InputError(
            "--where takes values without brackets, and texts plain or in double quotes", got=text, fix=fix
        )
    return text


def parsed_filter(filter: object = None, where: Sequence[str] = ()) -> Filter | None:
    """Return the filter that a user gave in one or both notations; None without any.

    Args:
        filter: a parsed filter, a mapping, or a JSON text; None: none.
        where: conditions for `parse_where`; all must match.

    Raises:
        InputError: as `parse_filter`, `parse_json` and `parse_where`.
    """
    parts = [] if filter is None else [filter if isinstance(filter, Filter) else _parsed(filter)]
    parts += map(parse_where, [where] if isinstance(where, str) else where)
    return parts[0] if len(parts) == 1 else Every(tuple(parts)) if parts else None


def _parsed(filter: object) -> Filter:
    return parse_json(filter) if isinstance(filter, str) else parse_filter(filter)


class _Parser:
    """Parses one filter, and counts its conditions."""

    def __init__(self) -> None:
        self._n_conditions = 0

    def all_of(self, value: object, place: str, depth: int) -> Filter:
        """Parse an object of fields and connectives."""
        if not isinstance(value, Mapping):
            fix = 'e.g. {"year": {"$gte": 2020}}'
            raise InputError(f"{place} must be an object of fields", got=value, fix=fix)
        if depth > MAX_NESTING:
            raise InputError(f"{place}: nested deeper than {MAX_NESTING}")
        return _joined([self._entry(key, part, f"{place}/{key}", depth) for key, part in value.items()])

    def _entry(self, key: object, value: object, place: str, depth: int) -> Filter:
        if not isinstance(key, str):
            raise InputError(f"{place}: a field is a string", got=key)
        if key == "$not":
            return Not(self.all_of(value, place, depth + 1))
        if key in CONNECTIVES:
            if not isinstance(value, list | tuple) or not value:
                raise InputError(f"{place} takes a list of filters", got=value)
            parts = [self.all_of(part, f"{place}/{i}", depth + 1) for i, part in enumerate(value)]
            return _joined(parts) if key == "$and" else Some(tuple(parts))
        if key.startswith("$"):
            known = CONNECTIVES if key not in OPERATORS else ()
            fix = suggestion(key, known) if known else f'it follows a field: {{"year": {{"{key}": ...}}}}'
            raise InputError(f"{place}: unknown operator here", got=key, fix=fix)
        return self._field(key, value, place, depth)

    def _field(self, field: str, value: object, place: str, depth: int) -> Filter:
        if not isinstance(value, Mapping):
            return self.condition(field, "$eq", value, place, depth)
        if not value:
            raise InputError(f"{place}: no operator", fix=f"one of {', '.join(OPERATORS)}")
        parts = []
        for operator, operand in value.items():
            parts.append(self.condition(field, operator, operand, f"{place}/{operator}", depth))
        return _joined(parts)

    def condition(self, field: str, operator: object, value: object, place: str, depth: int) -> Filter:
        """Parse an operator of a field and its operand."""
        self._n_conditions += 1
        if self._n_conditions > MAX_CONDITIONS:
            raise InputError(f"{place}: more than {MAX_CONDITIONS} conditions")
        if operator not in OPERATORS:
            raise InputError(f"{place}: unknown operator", got=operator, fix=suggestion(str(operator), OPERATORS))
        if operator == "$not":
            return Not(self._negated(field, value, place, depth))
        if operator == "$exists":
            return self._exists(field, value, place)
        if operator in ("$in", "$nin"):
            filter: Filter = AnyValue(field, "$in", self._list(value, place), place)
            return filter if operator == "$in" else Not(filter)
        if operator in ("$eq", "$ne") and isinstance(value, list | tuple) and not value:
            return Empty(field) if operator == "$eq" else Not(Empty(field))
        operand = (_scalar(value, place),)
        if operator in RANGES:
            return AnyValue(field, str(operator), self._ordered(operand, place), place)
        equal = AnyValue(field, "$in", operand, place)
        return equal if operator == "$eq" else Not(equal)

    def _negated(self, field: str, value: object, place: str, depth: int) -> Filter:
        if not isinstance(value, Mapping) or depth > MAX_NESTING:
            raise InputError(
                f"{place} takes an object of operators", got=value, fix=f'e.g. {{"{field}": {{"$gt": 1}}}}'
            )
        return self._field(field, value, place, depth + 1)

    @staticmethod
    def _exists(field: str, value: object, place: str) -> Filter:
        if not isinstance(value, bool):
            raise InputError(f"{place} takes true or false", got=value)
        return Exists(field) if value else Not(Exists(field))

    @staticmethod
    def _list(value: object, place: str) -> tuple[Scalar, ...]:
        if isinstance(value, set | frozenset | range):
            value = list(value)
        if hasattr(value, "tolist"):  # of NumPy and pandas
            value = json_value(value)
        if not isinstance(value, list | tuple) or not value:
            raise InputError(f"{place} takes a list of values", got=value)
        if len(value) > MAX_VALUES:
            raise InputError(f"{place}: more than {MAX_VALUES} values")
        return tuple(_scalar(part, f"{place}/{i}") for i, part in enumerate(value))

    @staticmethod
    def _ordered(operand: tuple[Scalar], place: str) -> tuple[Scalar]:
        if operand[0].kind == 0:
            raise InputError(f"{place} takes a number or a text", got=operand[0].value)
        return operand


def _joined(parts: list[Filter]) -> Filter:
    return parts[0] if len(parts) == 1 else Every(tuple(parts))


def _scalar(value: object, place: str) -> Scalar:
    known = json_value(value)  # also dates and numbers of NumPy, as in documents
    if not isinstance(known, str | bool | int | float) or _infinite(known):
        fix = '{"$exists": false} finds missing fields' if known is None else None
        raise InputError(f"{place} takes a number, a text, true or false", got=str(value), fix=fix)
    return scalar(known)


def _infinite(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)
