"""Whether the data are the paper's where a name does not tell: documents, queries, folds, what was learned on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longrank.collections.catalogue import FOLDS
from longrank.collections.collection import IRDS
from longrank.errors import InputError
from longrank.formats.folds import read_folds
from longrank.formats.queries import read_queries
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
    known: CatalogueEntry | None, tested: Iterable[str], settings: Mapping[str, Any], *, all_queries: bool = True
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


def check_heldout(query_ids: Iterable[str], settings: Mapping[str, Any]) -> None:
    """Refuse held-out queries with ids of those that are ranked: weights of runs are learned on all others.

    Raises:
        InputError: there are some, or there are no queries where the setting says.
    """
    both = sorted({query.query_id for query in _queries(settings.get("heldout"))} & set(query_ids))
    if both:
        what = f"{len(both)} held-out queries have ids of queries that are ranked"
        raise InputError(what, path=Path(settings["heldout"]), got=both[0], fix="give them ids of their own")


def folds_of(recipe: Recipe, given: Collection) -> Path | None:
    """Return the folds to use: those of the collection's folder, else the paper's, else the catalogue's, if any."""
    own = recipe.folds if given.name == recipe.collection and recipe.folds != NOT_PUBLISHED else None
    known = own or (given.entry.folds if given.entry else None)
    return given.folds or (FOLDS / known if known else None)


def n_folds_of(recipe: Recipe) -> int:
    """Return how many folds are made of a collection that has none: as many as the paper's, if they are known."""
    known = recipe.folds not in (None, NOT_PUBLISHED)
    return len(read_folds(FOLDS / str(recipe.folds), Notes())) if known else N_FOLDS


def fold_departures(recipe: Recipe, given: Collection, judged: Iterable[str]) -> list[str]:
    """Say whether the folds of `folds_of` test other judged queries together than the paper's, or nobody can know.

    Raises:
        InputError: no folds.
    """
    if given.entry is None or given.name != recipe.collection:
        return []
    published = recipe.folds or given.entry.folds
    if published == NOT_PUBLISHED:
        return [] if given.folds else ["folds that come with the package, the paper's are not published"]
    if published is None or given.folds is None:
        return []
    own, paper = (_tested_together(folds, frozenset(judged)) for folds in (given.folds, FOLDS / published))
    return [] if own == paper else [f"folds of {given.folds}, published are other ones"]


def _tested_together(folds: Path, judged: frozenset[str]) -> set[frozenset[str]]:
    return {judged.intersection(fold.test) for fold in read_folds(folds, Notes()).values()}


def document_departures(known: CatalogueEntry | None, n_docs: int) -> list[str]:
    """Say whether another number of documents was indexed than the collection has; one in a thousand may be lost."""
    if known is None or known.documents is None or abs(n_docs - known.documents) * 1000 <= known.documents:
        return []
    return [f"{n_docs} documents, {known.key} has {known.documents}"]


def _queries(place: str | None) -> list[Query]:
    if not place:
        return []
    if place.startswith(IRDS):
        from longrank.collections.irds import irds_queries

        return irds_queries(place.removeprefix(IRDS))
    path = Path(place) / "queries.jsonl"
    packed = path.with_name("queries.jsonl.gz")
    return read_queries(packed if packed.is_file() else path, Notes())
