"""Registries: look up entries by name, and check the options that entries declare.

Messages about unknown names suggest the nearest known name.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from importlib import import_module
from numbers import Integral
from typing import Any, TypeVar

from longrank.errors import InputError

T = TypeVar("T")
NO_OPTIONS = ("notes", "tokenizer", "title")
"""Keyword-only parameters of entries that are set by code, not by users."""


def lookup(registry: Mapping[str, T | str], name: str, kind: str) -> T:
    """Return the entry `name` of a registry; an entry given as ``"module:Name"`` is imported now.

    Args:
        registry: name -> entry.
        name: the name to look up.
        kind: noun for the message: ``"aggregator"``.

    Raises:
        InputError: no such name; suggests the nearest and lists all.
    """
    if not isinstance(name, str) or name not in registry:  # files and options may hold any value
        raise InputError(f"unknown {kind}", got=name, fix=suggestion(str(name), registry))
    entry = registry[name]
    if isinstance(entry, str):
        module, _, attribute = entry.partition(":")
        return getattr(import_module(module), attribute)  # type: ignore[no-any-return]
    return entry


def check_at_least(name: str, value: object, least: int) -> None:
    """Refuse an option that is not an integer of `least` or more.

    Raises:
        InputError: names the option.
    """
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise InputError(f"{name} must be an integer, {least} or more", got=value)
    if value < least:
        raise InputError(f"{name} must be {least} or more", got=value)


def plain_value(value: Any) -> Any:
    """Return a number or an array of NumPy as Python's number or list; any other value as it is."""
    return value.tolist() if hasattr(value, "tolist") else value


def whole_numbers(numbers: int | Iterable[int], name: str, least: int = 1) -> list[int]:
    """Return whole numbers of `least` or more, each once and ascending, that are given as a list or alone.

    Raises:
        InputError: names the option.
    """
    given = plain_value(numbers)
    listed = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    for number in listed:
        check_at_least(name, number, least)
    return sorted(set(listed))


def names_in(names: str | Iterable[str]) -> tuple[str, ...]:
    """Return names that are given as a list, or as a text with commas between them."""
    return tuple(map(str.strip, names.split(","))) if isinstance(names, str) else tuple(names)


def keyword_options(entry: Callable[..., object]) -> dict[str, inspect.Parameter]:
    """Return the options of a registry's entry: the fields of a dataclass, else the keyword-only parameters."""
    parameters, fields = inspect.signature(entry, eval_str=True).parameters.values(), is_dataclass(entry)
    return {
        parameter.name: parameter
        for parameter in parameters
        if (fields or parameter.kind is parameter.KEYWORD_ONLY) and parameter.name not in NO_OPTIONS
    }


def defaults_of(entry: Callable[..., object]) -> dict[str, Any]:
    """Return the options that a registry's entry declares, with their defaults."""
    return {name: parameter.default for name, parameter in keyword_options(entry).items()}


def checked_options(entry: Callable[..., object], what: str, options: Mapping[str, object]) -> dict[str, Any]:
    """Return options, NumPy's numbers and arrays as Python's, if an entry declares them and the values fit.

    Args:
        entry: a function or class; annotations may hold ranges of the package annotated_types (``Ge(1)``).
        what: names the entry in messages: ``"aggregator 'kmaxp'"``.
        options: name -> value.

    Raises:
        InputError: an unknown option (suggests the nearest), or a value of a wrong type or out of range.
    """
    declared, plain = keyword_options(entry), {name: plain_value(value) for name, value in options.items()}
    for name, value in plain.items():
        if name not in declared:
            fix = suggestion(name, declared) if declared else "leave it out"
            raise InputError(f"{what} has no option '{name}'", got=value, fix=fix)
        _check_value(declared[name].annotation, f"{name} of {what}", value)
    return plain


def _check_value(annotation: Any, what: str, value: object) -> None:
    from pydantic import ConfigDict, TypeAdapter, ValidationError

    try:
        TypeAdapter(annotation, config=ConfigDict(strict=True, allow_inf_nan=False)).validate_python(value)
    except ValidationError as error:
        fault = error.errors()[0]["msg"].removeprefix("Input ")
        raise InputError(f"{what} {fault}", got=value) from None


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return ``did you mean 'maxp'? (one of ...)`` for a name that is not among `known`."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    listed = f"one of {', '.join(names)}"
    return f"did you mean '{near[0]}'? ({listed})" if near else listed
