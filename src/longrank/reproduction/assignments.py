"""Settings of commands, as tables of Python and as what ``--set`` takes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from operator import itemgetter

from longrank.config import override

Overrides = Mapping[str, object]
"""Settings of a command, given by ``--set key=value``."""


def assignments(overrides: Overrides) -> list[str]:
    """Return ``key=value`` as ``--set`` reads it; of a table, each of its keys.

    In the order of the keys, so that the same settings are the same command, however they were given.
    """
    return [f"{key}={_toml(value)}" for key, value in sorted(flat(overrides), key=itemgetter(0))]


def flat(overrides: Overrides, above: str = "") -> Iterator[tuple[str, object]]:
    """Yield the keys of a table of tables as ``section.key``, and their values."""
    for key, value in overrides.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _toml(value: object) -> str:
    """Return a value as TOML; text that cannot be taken for anything else stays bare."""
    if isinstance(value, str) and value.strip() == value != "" and override({}, [f"key={value}"])["key"] == value:
        return value
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool | list) else str(value)
