"""What ``--set`` may make of a recipe's settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from longrank.config import override, suggestion
from longrank.errors import InputError, shown


def changed(papers: Mapping[str, Any], assignments: Iterable[str], whose: str) -> Mapping[str, Any]:
    """Return settings as ``--set`` changes them: only those that there are, each staying of its kind.

    Args:
        papers: the settings with the paper's values.
        assignments: ``key=value``; ``train.x.y=value`` is left to the training to judge.
        whose: the recipe, as a message names it.

    Raises:
        InputError: an unknown setting or system, or a value of another kind.
    """
    assignments = list(assignments)
    for assignment in assignments:
        key = assignment.partition("=")[0].strip().split(".")[0]
        if key not in papers:
            fix = suggestion(key, papers) if papers else "it has no settings"
            raise InputError(f"{whose}, has no such setting", got=assignment, fix=fix)
    settings = override(papers, assignments)
    for key, value in papers.items():
        given = settings.get(key)
        if not _alike(value, given):
            kind = next(name for type_, name in _KINDS.items() if isinstance(value, type_))
            raise InputError(f"setting {key} is {kind}", got=given, fix=f"as {shown(value)}")
        if key != "train" and not _alike_inside(value, given):  # `train` is of another command, which knows its keys
            raise InputError(f"values of setting {key} are of another kind", got=given, fix=f"as {shown(value)}")
        if key not in _ANY and min(_whole(value), default=0) > 0 and min(_whole(given), default=1) < 1:
            raise InputError(f"setting {key} counts something", got=given, fix="give 1 or more")
    own = papers.get("systems", [])
    for system in settings.get("systems", []):
        if system not in own:
            raise InputError(f"{whose}, has no such system", got=system, fix=suggestion(system, own))
    return settings


_ANY = {"seed", "seeds", "queries"}  # of which 0 may be meant: all queries


def _whole(value: object) -> list[int]:
    """Return the whole numbers of a setting: itself, or those of a list."""
    numbers = value if isinstance(value, list) else [value]
    return [one for one in numbers if isinstance(one, int) and not isinstance(one, bool)]


_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text", list: "a list", dict: "a table"}


def _alike(value: object, given: object) -> bool:
    """Say whether what is given is of the kind of a setting; a whole number is a number, but not true or false."""
    if isinstance(value, float):
        return isinstance(given, int | float) and not isinstance(given, bool)
    return type(given) is type(value)


def _alike_inside(value: Any, given: Any) -> bool:
    """Say whether tables and lists hold what the setting's do: tables where those are tables, numbers among numbers.

    A list of numbers is not emptied: something is measured at each. What is left out of one of names is not made.
    """
    if isinstance(value, dict):
        parts = {type(one) for one in value.values()}
        return parts not in ({dict}, {list}) or all(type(one) in parts for one in given.values())
    if not isinstance(value, list) or not value:
        return True
    return (bool(given) or isinstance(value[0], str)) and all(_alike(value[0], one) for one in given)
