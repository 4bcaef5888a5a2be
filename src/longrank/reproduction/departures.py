"""Check that documents, queries, folds and training data match the paper's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longrank.collections import read_queries
from longrank.collections.catalogue import FOLDS
from longrank.collections.collection import IRDS
from longrank.errors import InputError
from longrank.formats.folds import read_folds
from longrank.reproduction.inputs import N_FOLDS
from longrank.reproduction.recipe import NOT_PUBLISHED
from longrank.types import Notes

if TYPE_CHECKING:
    from longrank.collections.catalogue import CatalogueEntry
    from longrank.collections.collection import Collection
    from longrank.reproduction.recipe import Recipe
    from longrank.types import Query

LEARNED_ON = ("heldout", "train_on", "learn_on")
"""Settings of recipes that name other judged queries: a folder with ``queries.jsonl``, or ``irds:ID``."""


def data_departures(
    entry: CatalogueEntry | None, tested: Iterable[str], settings: Mapping[str, Any], *, all_queries: bool = True
) -> list[str]:
    """Return the differences between the queries and the paper's.

    Args:
        entry: the collection's entry in the catalogue.
        tested: texts of the ranked queries.
        settings: the recipe's settings.
        all_queries: False if the user chose a part of the queries.

    Raises:
        InputError: a setting of `LEARNED_ON` names a place without queries.
    """
    texts = list(tested)
    differences = []
    if entry is not None and all_queries and len(texts) != entry.judged:
        differences.append(f"{len(texts)} judged queries, {entry.key} has {entry.judged}")
    for key in LEARNED_ON:
        seen = {text for query in _queries(settings.get(key)) for text in (query.text, *query.fields.values())}
        if shared := sum(text in seen for text in texts):
            differences.append(f"{key} has {shared} of the queries that are tested")
    return differences


def check_heldout(query_ids: Iterable[str], settings: Mapping[str, Any]) -> None:
    """Refuse held-out queries that share ids with the ranked queries.

    Raises:
        InputError: an id is shared, or the setting names a place without queries.
    """
    shared = sorted({query.query_id for query in _queries(settings.get("heldout"))} & set(query_ids))
    if shared:
        what = f"{len(shared)} held-out queries have ids of ranked queries"
        raise InputError(what, path=Path(settings["heldout"]), got=shared[0], fix="rename the held-out queries")


def folds_of(recipe: Recipe, collection: Collection) -> Path | None:
    """Return the folds of the collection's folder, else the paper's, else the catalogue's, if any."""
    published = recipe.folds if collection.name == recipe.collection and recipe.folds != NOT_PUBLISHED else None
    folds = published or (collection.entry.folds if collection.entry else None)
    return collection.folds or (FOLDS / folds if folds else None)


def n_folds_of(recipe: Recipe) -> int:
    """Return the number of folds to make for a collection without folds: the paper's number, if known."""
    known = recipe.folds not in (None, NOT_PUBLISHED)
    return len(read_folds(FOLDS / str(recipe.folds), Notes())) if known else N_FOLDS


def fold_departures(recipe: Recipe, collection: Collection, judged: Iterable[str]) -> list[str]:
    """Return the difference between the folds of `folds_of` and the paper's, if they differ or cannot be compared.

    Raises:
        InputError: a file of folds cannot be read.
    """
    if collection.entry is None or collection.name != recipe.collection:
        return []
    published = recipe.folds or collection.entry.folds
    if published == NOT_PUBLISHED:
        return [] if collection.folds else ["folds that come with the package, the paper's are not published"]
    if published is None or collection.folds is None:
        return []
    used, paper = (_tested_together(folds, frozenset(judged)) for folds in (collection.folds, FOLDS / published))
    return [] if used == paper else [f"folds of {collection.folds}, published are other ones"]


def _tested_together(folds: Path, judged: frozenset[str]) -> set[frozenset[str]]:
    return {judged.intersection(fold.test) for fold in read_folds(folds, Notes()).values()}


def document_departures(entry: CatalogueEntry | None, n_docs: int) -> list[str]:
    """Return the difference if the number of indexed documents is off by more than one in a thousand."""
    if entry is None or entry.documents is None or abs(n_docs - entry.documents) * 1000 <= entry.documents:
        return []
    return [f"{n_docs} documents, {entry.key} has {entry.documents}"]


def _queries(place: str | None) -> list[Query]:
    if not place:
        return []
    plain, packed = (Path(place) / name for name in ("queries.jsonl", "queries.jsonl.gz"))
    return read_queries(place if place.startswith(IRDS) else packed if packed.is_file() else plain)
