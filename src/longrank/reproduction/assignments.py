"""Options of commands from Python values: settings as the texts that ``--set`` takes, grids, and repeated options."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter

from longrank.config import override
from longrank.evaluation.tuning.grids import parse_axes

Overrides = Mapping[str, object]
"""Settings of a command that ``--set key=value`` replaces."""


def assignments(overrides: Overrides) -> list[str]:
    """Return ``key=value`` for every setting and every key of a table, sorted by key.

    Sorted, so that equal settings give equal commands.
    """
    return [f"{key}={_toml(value)}" for key, value in sorted(flat(overrides), key=itemgetter(0))]


def flat(overrides: Overrides, above: str = "") -> Iterator[tuple[str, object]]:
    """Yield ``section.key`` and value of nested tables."""
    for key, value in overrides.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _toml(value: object) -> str:
    """Return a value as TOML; a text stays bare if TOML reads it as a text."""
    if isinstance(value, str) and value.strip() == value != "" and override({}, [f"key={value}"])["key"] == value:
        return value
    return _quoted(value)


def _quoted(value: object) -> str:
    """Return a value as TOML, each text of it in quotes."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{json.dumps(str(key))} = {_quoted(part)}' for key, part in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_quoted, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else str(value)


def grid_options(grid: Mapping[str, str]) -> list[str]:
    """Return a grid as options of a command, and check its values before the first command runs.

    Raises:
        InputError: values are neither ``0.1,0.2`` nor ``0.1:0.9:0.1``.
    """
    axes = [f"{axis}={values}" for axis, values in grid.items()]
    parse_axes(axes, dict.fromkeys(grid, float))
    return [part for axis in axes for part in ("--grid", axis)]


def repeated(option: str, values: Iterable[object]) -> tuple[object, ...]:
    """Return an option of a command for each value, so that paths may have commas."""
    return tuple(part for value in values for part in (option, value))
