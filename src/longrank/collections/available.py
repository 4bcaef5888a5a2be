"""Check that a whole collection is at hand: documents, queries and judgments."""

from __future__ import annotations

from collections.abc import Callable

from longrank.collections.collection import IRDS, Collection, completed, missing, open_collection
from longrank.errors import InputError, MissingExtra
from longrank.types import Notes

_SHOWN = 120  # characters of the reason why ir_datasets fails


def open_whole(source: str, *, check: bool = True) -> Collection:
    """Open a collection that has documents, queries and judgments; missing parts come from ir_datasets.

    Args:
        source: as for `open_collection`.
        check: read the parts that come from ir_datasets, so that a part that cannot be fetched fails here.

    Raises:
        InputError: as `open_collection`, or a part is missing; the message says where to get it.
        MissingExtra: ir_datasets is needed and not installed.
    """
    collection = completed(open_collection(source))
    parts = (("documents", collection.sources), ("queries", collection.queries), ("judgments", collection.qrels))
    for part, places in parts:
        if not places:
            by_name = collection.folder is None and source == collection.name
            raise missing(collection, "is not here" if by_name else f"has no {part}", source)
    if check and collection.entry is not None:
        _check_irds(collection)
    return collection


def _check_irds(collection: Collection) -> None:
    """Read the first licensed document, and all queries and judgments: open documents are fetched for the index."""
    from longrank.collections.irds import irds_judgments, irds_records, irds_topics

    licensed = collection.entry is not None and collection.entry.licence == "licensed"
    parts: list[tuple[tuple[str, ...], Callable[[str], object]]] = [
        (collection.sources if licensed else (), lambda dataset_id: next(irds_records(dataset_id))),
        (collection.queries, lambda dataset_id: irds_topics(dataset_id, Notes())),
        ((*collection.qrels, *collection.judged_before), lambda dataset_id: list(irds_judgments(dataset_id))),
    ]
    try:
        for places, read in parts:
            for place in places:
                if place.startswith(IRDS):
                    read(place.removeprefix(IRDS))
    except MissingExtra:
        raise
    except InputError as error:
        folder = collection.folder
        lacks = f"{folder} has no docs.jsonl or docs/, and " if folder and place in collection.sources else ""
        raise missing(collection, f"{lacks}{error.what[:_SHOWN]}", str(error.path)) from error
