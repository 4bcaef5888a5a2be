"""Grids of settings: ``k1=0.6:1.2:0.1`` and ``b=0.3,0.4`` are two axes; every combination is a setting.

Steps are decimals, so six steps of 0.1 from 0.6 are 1.2 exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import product
from math import isclose, prod
from numbers import Integral, Real
from typing import Any, TypeAlias

from longrank.errors import InputError
from longrank.registries import plain_value, suggestion

MAX_SETTINGS = 100_000
_LARGEST, _DECIMALS = 10**12, 9  # limits of a value; beyond them float64 or int() fails
_FLOAT_ERROR = 1e-12  # of a value, in sums and products of floats
_SHAPE = "write NAME=FIRST:LAST:STEP or NAME=VALUE,VALUE,..., e.g. k1=0.6:1.2:0.1"

Number: TypeAlias = int | float
Setting: TypeAlias = Mapping[str, Number]
Axes: TypeAlias = Mapping[str, tuple[Number, ...]]
"""name -> values, ascending, each once."""


def parse_axes(
    grid: Mapping[str, Any] | Iterable[str],
    kinds: Mapping[str, type[Number]],
    noun: str = "setting to tune in this first stage",
) -> dict[str, tuple[Number, ...]]:
    """Read the axes of a grid.

    Args:
        grid: texts of an axis each: ``NAME=FIRST:LAST:STEP``, LAST included if a step falls on it, or
            ``NAME=VALUE,VALUE,...``; or a mapping of names to such ranges, to numbers, or to lists of numbers.
        kinds: the settings that can be axes -> int or float.
        noun: noun for these settings, for messages.

    Raises:
        InputError: no axis, another shape, an unknown setting (suggests the nearest), a setting given twice, a
            fraction of a whole number, a value above 1e12 or with more than 9 decimals, or more than `MAX_SETTINGS`
            settings.
    """
    axes: dict[str, tuple[Number, ...]] = {}
    for text in _texts(grid):
        name, equals, values = (part.strip() for part in text.partition("="))
        if not equals:
            raise InputError("not an axis of a grid", got=text, fix=_SHAPE)
        if name not in kinds:
            raise InputError(f"no {noun}", got=name, fix=suggestion(name, kinds))
        if name in axes:
            raise InputError("an axis is given twice", got=name, fix="give each setting once")
        axes[name] = tuple(sorted({_typed(text, value, kinds[name]) for value in _values(text, values)}))
    if not axes:
        raise InputError("the grid is empty", fix=_SHAPE)
    if (size := prod(map(len, axes.values()))) > MAX_SETTINGS:
        raise InputError(f"the grid has {size} settings, more than {MAX_SETTINGS}", fix="use larger steps")
    return axes


def settings_of(axes: Axes) -> list[dict[str, Number]]:
    """Return every combination, ascending; the last axis changes fastest."""
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def mean_setting(settings: Sequence[Setting]) -> dict[str, Number]:
    """Return the arithmetic mean, axis by axis; whole numbers are rounded, halves up.

    The mean of .8 and .9 is .85 exactly: it is computed in decimals.
    """
    return {name: _mean([setting[name] for setting in settings]) for name in settings[0]}


def shown_setting(setting: Setting) -> str:
    """Return ``k1=0.82 b=0.68``."""
    return " ".join(f"{name}={shown_value(value)}" for name, value in setting.items())


def shown_value(value: Number) -> str:
    """Return a value as text: whole numbers in full, others to ten digits."""
    return str(value) if isinstance(value, int) else f"{value:.10g}"


def _texts(grid: Mapping[str, Any] | Iterable[str]) -> Iterable[str]:
    if isinstance(grid, Mapping):
        plain = {name: plain_value(value) for name, value in grid.items()}
        lists = {
            name: [value] if isinstance(value, str) or not isinstance(value, Iterable) else value
            for name, value in plain.items()
        }
        return [f"{name}={','.join(map(_written, values))}" for name, values in lists.items()]
    return [grid] if isinstance(grid, str) else grid


def _written(value: object) -> str:
    """Return a value as text; a float without the error of its binary digits: 3 * 0.1 is 0.3."""
    if not isinstance(value, Real) or isinstance(value, Integral):
        return str(value)
    rounded = round(float(value), _DECIMALS)
    return str(rounded if isclose(rounded, value, rel_tol=_FLOAT_ERROR) else value)


def _values(axis: str, text: str) -> list[Decimal]:
    try:
        if ":" not in text:
            return [_decimal(part) for part in text.split(",")]
        first, last, step = map(_decimal, text.split(":"))
        steps = (last - first) // step
    except (ValueError, ArithmeticError):
        raise InputError("not an axis of a grid", got=axis, fix=_SHAPE) from None
    if step < 0 or steps < 0:
        raise InputError("the range of a grid is empty", got=axis, fix="give FIRST <= LAST and a STEP above 0")
    if steps >= MAX_SETTINGS:
        raise InputError(f"the grid has more than {MAX_SETTINGS} settings", got=axis, fix="use larger steps")
    return [first + step * number for number in range(int(steps) + 1)]


def _decimal(text: str) -> Decimal:
    value = Decimal(text.strip())
    if not value.is_finite():
        raise InvalidOperation
    if abs(value) > _LARGEST or round(value, _DECIMALS) != value:
        raise InputError(f"a value of a grid is at most {_LARGEST:.0e} and has at most {_DECIMALS} decimals", got=text)
    return value


def _typed(axis: str, value: Decimal, kind: type[Number]) -> Number:
    if kind is int and value != value.to_integral_value():
        raise InputError("this setting takes whole numbers", got=axis)
    return kind(value)


def _mean(values: Sequence[Number]) -> Number:
    mean = sum((Decimal(str(value)) for value in values), Decimal()) / len(values)
    return int((mean + Decimal("0.5")) // 1) if all(isinstance(value, int) for value in values) else float(mean)
