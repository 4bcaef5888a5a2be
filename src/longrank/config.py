"""Settings: TOML files checked against a schema, `--set key=value`, and names of registries.

Messages about unknown names suggest the nearest known name.
"""

from __future__ import annotations

import copy
import difflib
import inspect
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from importlib import import_module
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, get_args

from longrank.errors import InputError
from longrank.small_files import SETTINGS, read_small

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

T = TypeVar("T")
M = TypeVar("M", bound="BaseModel")
_SECTIONS = ("model_type", "dict_type")
NO_OPTIONS = ("notes", "tokenizer", "title")
"""Keyword-only parameters of entries that are set by code, not by users."""

_NOT_TOML = re.compile(r"[+-]?(\.\d+|\d+\.)|True|False")  # Python's notation


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


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises:
        InputError: no such file, larger than 1 MiB, not UTF-8, or not TOML (names the line).
    """
    try:
        return tomllib.loads(read_small(path, SETTINGS, "settings").decode("utf-8"))
    except (FileNotFoundError, IsADirectoryError):
        raise InputError("no such file", path=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=path) from None
    except UnicodeDecodeError:
        raise InputError("is not UTF-8", path=path) from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"is not valid TOML: {error}", path=path) from None
    except RecursionError:
        raise InputError("is nested too deep", path=path) from None


def shipped(folder: Path) -> list[str]:
    """Return the names of the package's TOML files in a folder."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def load_settings(model: type[M], kind: str, folder: Path, name_or_path: str | Path, assignments: Assignments) -> M:
    """Read settings by name or from a TOML file, with ``section.key=value`` applied on top.

    Args:
        model: as of `validated`.
        kind: noun for the message: ``"pipeline"``.
        folder: the folder of the package's own settings.
        name_or_path: a name in `folder`, or a file that ends in ``.toml``.
        assignments: as of `override`.

    Raises:
        InputError: no such name or file, or a setting is unknown or wrong (suggests the nearest).
    """
    return validated(model, read_settings(kind, folder, name_or_path, assignments), str(name_or_path))


def read_settings(kind: str, folder: Path, name_or_path: str | Path, assignments: Assignments) -> dict[str, Any]:
    """Read settings as `load_settings` does, unchecked.

    Raises:
        InputError: no such name or file, or as `override`.
    """
    if not isinstance(name_or_path, str | Path):
        raise InputError(f"a {kind} is a name or a TOML file", got=type(name_or_path).__name__)
    name, path = str(name_or_path), folder / f"{name_or_path}.toml"
    if name.endswith(".toml"):
        path = Path(name)
    elif name not in shipped(folder):
        fix = suggestion(name, shipped(folder))
        if Path(name).is_file():
            fix = f"a settings file must end in .toml; or {fix}"
        raise InputError(f"unknown {kind}", got=name, fix=fix)
    return override(read_toml(path), assignments)


Assignments: TypeAlias = str | Iterable[str] | Mapping[str, Any]
"""Settings that replace others: ``"section.key=value"``, one or several, or ``{"section.key": value}``."""


def listed(assignments: Assignments) -> list[str]:
    """Return assignments as a list for `override`."""
    if isinstance(assignments, Mapping):
        return [f"{key}={toml_value(value)}" for key, value in assignments.items()]
    return [assignments] if isinstance(assignments, str) else list(assignments)


def toml_value(value: Any) -> str:
    """Return a value in TOML's notation; None and an empty section give an empty text."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        inline = ", ".join(f"{key} = {toml_value(entry)}" for key, entry in value.items())
        return f"{{{inline}}}" if inline else ""
    return json.dumps(value, ensure_ascii=False, default=str)


def override(data: Mapping[str, Any], assignments: Assignments) -> dict[str, Any]:
    """Return `data` with each ``section.key=value`` applied; values are TOML, bare words are strings.

    ``section.key=`` removes the key. An empty text is ``section.key=""``.

    Raises:
        InputError: an assignment has no ``=``, names a key below a value, removes a missing key, or has a number or
            truth value in Python's notation.
    """
    result = copy.deepcopy(dict(data))
    for assignment in listed(assignments):
        key, equals, text = assignment.partition("=")
        if not equals or not key.strip():
            raise InputError("--set takes key=value", got=assignment)
        *sections, last = key.strip().split(".")
        place = result
        for section in sections:
            place = place.setdefault(section, {})
            if not isinstance(place, dict):
                raise InputError(f"--set {key}: '{section}' holds a value, not a section", got=assignment)
        if text.strip():
            place[last] = _toml_value(text.strip(), assignment)
        elif place.pop(last, None) is None:
            fix = 'write a value after the =; an empty text is ""'
            raise InputError(f"--set {assignment}: this key is not set, so it cannot be removed", fix=fix)
    return result


def _toml_value(text: str, assignment: str) -> Any:
    try:
        read = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        if _NOT_TOML.fullmatch(text):
            fix = f'TOML writes 0.5, 1.0, true and false; as a text, "{text}"'
            raise InputError("--set takes TOML values", got=assignment, fix=fix) from None
        return text
    return read["value"] if len(read) == 1 else text  # a line break could begin another key


def validated(model: type[M], data: Mapping[str, Any], origin: str) -> M:
    """Build a settings model; the first fault becomes a message of one line.

    Args:
        model: the pydantic model (``extra="forbid"``).
        data: parsed settings.
        origin: file or preset, for the message.

    Raises:
        InputError: an unknown key (suggests the nearest), a wrong type or value (names its path).
    """
    from pydantic import ValidationError

    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        raise _first_fault(model, error, origin) from None
    except InputError as error:  # of a registry's entry, which does not know the file
        raise error if error.path is not None else error.located(origin) from None


def _first_fault(model: type[BaseModel], error: ValidationError, origin: str) -> InputError:
    faults = error.errors()
    fault = next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])  # perhaps misspelt
    where = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "extra_forbidden":
        known = _keys_at(model, fault["loc"][:-1])
        return InputError("unknown key", path=origin, got=where, fix=suggestion(str(fault["loc"][-1]), known))
    message = fault["msg"].removeprefix("Value error, ")
    got = None if isinstance(fault["input"], dict) else fault["input"]
    return InputError(f"{where}: {message}" if where else message, path=origin, got=got, fix=_shape(model, fault))


def _shape(model: type[BaseModel], fault: Any) -> str | None:
    """Return the notation of a section, or of a list of sections, for a value that should be a section."""
    names = tuple(part for part in fault["loc"] if isinstance(part, str))
    section, kind = ".".join(names), fault["type"]
    if kind not in ("list_type", *_SECTIONS):
        return None
    if kind == "list_type" or (fault["loc"] and isinstance(fault["loc"][-1], int)):
        return f"write [[{section}]], once for each" if hasattr(_at(model, names), "model_fields") else None
    return f"write [{section}] and its keys, or --set {section}.KEY=VALUE" if section else None


def _at(model: type[BaseModel], names: tuple[str, ...]) -> Any:
    """Return the settings model under these keys, else the annotation of the last key."""
    current: Any = model
    for name in names:
        field = getattr(current, "model_fields", {}).get(name)
        current = None if field is None else _model_in(field.annotation)
    return current


def _keys_at(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    names = tuple(part for part in location if isinstance(part, str))  # a number is a list index
    return list(_at(model, names).model_fields)


def _model_in(annotation: Any) -> Any:
    """Return the settings model in an annotation such as ``Model``, ``list[Model]`` or ``Model | None``."""
    return next((part for part in get_args(annotation) if hasattr(part, "model_fields")), annotation)
