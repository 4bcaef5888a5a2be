"""Open the index or the store of a server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from longrank.index import Index
from longrank.retrieval.stores import is_store, open_store
from longrank.service.engine import Engine
from longrank.service.served import PipelineChoice
from longrank.service.served_store import ServedStore
from longrank.types import Notes

E = TypeVar("E", bound=Engine)


def open_engine(
    kind: type[E], source: Path | None, choices: Sequence[PipelineChoice], assignments: Sequence[str], notes: Notes
) -> E:
    """Return the pipelines over an index or a store, without their models.

    Args:
        kind: the class of the result.
        source: an index, or STORE:SETTINGS.toml; None: the server only reranks texts.
        choices: the pipelines.
        assignments: ``section.key=value`` for every pipeline.
        notes: collects remarks.

    Raises:
        InputError, MissingExtra: as `Index.open`, `open_store` and `Engine`.
    """
    if source is not None and is_store(source):
        store = ServedStore(str(source), open_store(source))
        return kind(choices, None, assignments=assignments, notes=notes, store=store)
    index = None if source is None else Index.open(source)
    return kind(choices, index, assignments=assignments, notes=notes)
