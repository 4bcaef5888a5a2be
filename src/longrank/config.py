"""Settings: TOML files checked against a schema, and `--set key=value`."""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from datetime import date, time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, get_args

from longrank.errors import InputError
from longrank.registries import plain_value, suggestion
from longrank.small_files import SETTINGS, read_small

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

M = TypeVar("M", bound="BaseModel")
_SECTIONS = ("model_type", "dict_type")

_QUOTED = re.compile(r"""\A[^\n#\[]*(?:"[^"\n]*"|'[^'\n]*')[^\n#\[]*\Z""")  # a key with a part in quotes
_NOT_TOML = re.compile(r"[+-]?(\.\d+|\d+\.)|True|False")  # Python's notation


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
        elif kind == "pipeline" and ("/" in name or Path(name).is_dir()):
            fix = f"a model is given beside a pipeline: pipeline 'maxp' with model '{name}'; {fix}"
        raise InputError(f"unknown {kind}", got=name, fix=fix)
    return override(read_toml(path), assignments)


Assignments: TypeAlias = str | Iterable[str] | Mapping[str, Any]
"""Settings that replace others: ``"section.key=value"``, one or several, or ``{"section.key": value}``."""


_KINDS = "settings must be texts like 'final.depth=50', or a mapping of keys to values"


def listed(assignments: Assignments) -> list[str]:
    """Return assignments as a list for `override`.

    Raises:
        InputError: neither a text, nor texts, nor a mapping.
    """
    if isinstance(assignments, Mapping):
        return [f"{key}={toml_value(value)}" for key, value in assignments.items()]
    if isinstance(assignments, str):
        return [assignments]
    if not isinstance(assignments, Iterable):
        raise InputError(_KINDS, got=assignments)
    given = list(assignments)
    for assignment in given:
        if not isinstance(assignment, str):
            raise InputError(_KINDS, got=assignment)
    return given


def toml_value(value: Any) -> str:
    """Return a value in TOML's notation; None and an empty section give an empty text."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        inline = ", ".join(f"{key} = {toml_value(entry)}" for key, entry in value.items())
        return f"{{{inline}}}" if inline else ""
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    """Return a value of NumPy, which JSON does not know, as Python's number or list; other values as text."""
    plain = plain_value(value)
    return str(value) if plain is value else plain


def assigned(assignments: Assignments) -> set[str]:
    """Return the names of the settings that assignments set: ``section.key``."""
    return {text.partition("=")[0].strip() for text in listed(assignments)}


def refuse_twice(given: Mapping[str, Any], assignments: Assignments) -> None:
    """Refuse a setting that stands among assignments, too.

    Args:
        given: key -> value that is given by an option of its own; None: it is not given.
        assignments: settings.

    Raises:
        InputError: names the setting.
    """
    keys = assigned(assignments)
    for key, value in sorted(given.items()):
        if value is not None and key in keys:
            what = f"{key} is given twice: as {key.rpartition('.')[2]} and as a setting"
            raise InputError(what, got=value, fix="leave out one of them")


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
        *sections, last = _parts(key.strip())
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


def _parts(key: str) -> list[str]:
    """Return the parts of a dotted key; some may be in quotes, as in TOML: ``first_stages."BM25+RM3".b``."""
    if not _QUOTED.search(key):
        return key.split(".")
    try:
        below: Any = tomllib.loads(f"{key} = 0")
    except tomllib.TOMLDecodeError:  # O'Brien
        return key.split(".")
    parts = []
    while isinstance(below, dict):
        ((part, below),) = below.items()
        parts.append(part)
    return parts


def _toml_value(text: str, assignment: str) -> Any:
    try:
        read = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        if _NOT_TOML.fullmatch(text):
            fix = f'TOML writes 0.5, 1.0, true and false; as a text, "{text}"'
            raise InputError("--set takes TOML values", got=assignment, fix=fix) from None
        return text
    if len(read) > 1 or isinstance(read["value"], date | time):
        return text  # a line break could begin another key, and 20:40:20 is a grid, not a time of day
    return read["value"]


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
