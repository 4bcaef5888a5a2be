"""Whether the data are the paper's: where a collection's name does not tell, and what was learned on tested queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longrank.formats.collection import IRDS
from longrank.formats.queries import read_queries
from longrank.types import Notes

if TYPE_CHECKING:
    from longrank.reproduction.collections import Collection
    from longrank.types import Query

LEARNED_ON = ("heldout", "train_on", "learn_on")
"""Settings of recipes that name other judged queries: a folder with ``queries.jsonl``, or ``irds:ID``."""


def data_departures(
    known: Collection | None, tested: Iterable[str], settings: Mapping[str, Any], *, all_queries: bool = True
) -> list[str]:
    """Say in what the data are not the paper's.

    Args:
        known: the collection's entry in the catalogue.
        tested: the texts of the queries that are ranked.
        settings: of the recipe.
        all_queries: whether no part of them was asked for.

    Raises:
        InputError: there are no queries where a setting of `LEARNED_ON` says.
    """
    texts = list(tested)
    found = []
    if known is not None and all_queries and len(texts) != known.judged:
        found.append(f"{len(texts)} judged queries, {known.key} has {known.judged}")
    for key in LEARNED_ON:
        seen = {text for query in _queries(settings.get(key)) for text in (query.text, *query.fields.values())}
        if both := sum(text in seen for text in texts):
            found.append(f"{key} has {both} of the queries that are tested")
    return found


def _queries(place: str | None) -> list[Query]:
    if not place:
        return []
    if place.startswith(IRDS):
        from longrank.formats.irds import irds_queries

        return irds_queries(place.removeprefix(IRDS))
    path = Path(place) / "queries.jsonl"
    packed = path.with_name("queries.jsonl.gz")
    return read_queries(packed if packed.is_file() else path, Notes())
