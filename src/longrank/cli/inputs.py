"""What several commands read the same way."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from longrank.config import suggestion
from longrank.errors import InputError
from longrank.types import Notes, Query


def load_queries(
    source: str, notes: Notes, query_format: str | None = None, field: str | None = None, allow_empty: bool = False
) -> list[Query]:
    """Read queries from a file or from ``irds:ID``.

    Raises:
        InputError: as the reader says.
    """
    if source.startswith("irds:"):
        from longrank.formats.irds import irds_queries

        return irds_queries(source.removeprefix("irds:"), field)
    from longrank.formats.queries import read_queries

    return read_queries(Path(source), notes, format=query_format, field=field, allow_empty=allow_empty)


def choice(option: str, value: str, allowed: Sequence[str]) -> str:
    """Check an option that takes one of a few words.

    Raises:
        InputError: another word.
    """
    if value not in allowed:
        raise InputError(f"{option} takes {' or '.join(allowed)}", got=value, fix=suggestion(value, allowed))
    return value
