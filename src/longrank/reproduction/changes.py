"""Apply ``--set`` to a recipe's settings, and check the new values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from longrank.config import override
from longrank.errors import InputError, shown
from longrank.registries import suggestion


def changed_settings(published: Mapping[str, Any], assignments: Iterable[str], recipe: str) -> Mapping[str, Any]:
    """Return settings with assignments applied. A setting must exist and keeps its type.

    Args:
        published: settings with the paper's values.
        assignments: ``key=value``; ``train.x.y=value`` is checked by the training.
        recipe: the recipe's name in messages.

    Raises:
        InputError: an unknown setting or system, or a value of another type.
    """
    assignments = list(assignments)
    for assignment in assignments:
        key = assignment.partition("=")[0].strip().split(".")[0]
        if key not in published:
            fix = suggestion(key, published) if published else "it has no settings"
            raise InputError(f"{recipe}, has no such setting", got=assignment, fix=fix)
    settings = override(published, assignments)
    for key, value in published.items():
        new = settings.get(key)
        if not _alike(value, new):
            kind = next(name for type_, name in _KINDS.items() if isinstance(value, type_))
            raise InputError(f"setting {key} is {kind}", got=new, fix=f"as {shown(value)}")
        if key != "train" and not _alike_inside(value, new):  # the training checks `train`
            raise InputError(f"values of setting {key} are of another type", got=new, fix=f"as {shown(value)}")
        if key in _NAMED and isinstance(value, dict):
            _check_names(key, value, settings[key])
        if key not in _ANY and min(_whole(value), default=0) > 0 and min(_whole(new), default=1) < 1:
            raise InputError(f"setting {key} is a count", got=new, fix="give 1 or more")
    _check_fixed(published, settings)
    systems = published.get("systems", [])
    for system in settings.get("systems", []):
        if system not in systems:
            raise InputError(f"{recipe}, has no such system", got=system, fix=suggestion(system, systems))
    return settings


_ANY = {"seed", "seeds", "queries"}  # may be 0
_NAMED = {"first_stages", "weights", "runs"}  # tables of what the program reads by name


GRIDS = {"BM25": "bm25_grid", "BM25+RM3": "rm3_grid"}
"""First stage -> the setting with the grid over which it is tuned."""


def _check_fixed(published: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Refuse a fixed value of a first stage that its grid replaces.

    Raises:
        InputError: names the value.
    """
    for name, fixed in settings.get("first_stages", {}).items():
        grid, before = settings.get(GRIDS.get(name, "")) or {}, published["first_stages"].get(name) or {}
        for key, value in fixed.items():
            if key in grid and before.get(key) != value:
                what = f"first_stages.{name}.{key} has no effect: {GRIDS[name]} tries its values"
                raise InputError(what, got=value, fix=f"leave {key} out of {GRIDS[name]}, or do not set it")


def _check_names(key: str, published: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Refuse an entry that no program reads: a first stage, a row, or an option of a run that is misspelt.

    Raises:
        InputError: names the entry.
    """
    options = {"first_stage"} | {option for part in published.values() if isinstance(part, dict) for option in part}
    for name, value in new.items():
        known = {*published, *(GRIDS if key == "first_stages" else ())}
        if key != "runs" and name not in known:
            raise InputError(f"setting {key} has no such entry", got=name, fix=suggestion(name, known))
        unknown = sorted({*value} - options) if key == "runs" and isinstance(value, dict) else []
        if unknown:
            raise InputError(f"runs.{name} has no such option", got=unknown[0], fix=suggestion(unknown[0], options))


def _whole(value: object) -> list[int]:
    """Return the whole numbers of a setting, which is a number or a list."""
    numbers = value if isinstance(value, list) else [value]
    return [number for number in numbers if isinstance(number, int) and not isinstance(number, bool)]


_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text", list: "a list", dict: "a table"}


def _alike(value: object, new: object) -> bool:
    """Compare types; a whole number may replace a number, true and false may not."""
    if isinstance(value, float):
        return isinstance(new, int | float) and not isinstance(new, bool)
    return type(new) is type(value)


def _alike_inside(value: Any, new: Any) -> bool:
    """Compare the types inside tables and lists.

    A list of numbers may not become empty, since each number gives a row; a list of names may.
    """
    if isinstance(value, dict):
        types = {type(part) for part in value.values()}
        return types not in ({dict}, {list}) or all(type(part) in types for part in new.values())
    if not isinstance(value, list) or not value:
        return True
    return (bool(new) or isinstance(value[0], str)) and all(_alike(value[0], part) for part in new)
