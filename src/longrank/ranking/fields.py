"""Metadata of results, and counts of metadata values (facets)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from longrank.index import Index
from longrank.index.columns import OBJECT
from longrank.index.filters import Filter
from longrank.index.living_metadata import Stored
from longrank.ranking.found import Result
from longrank.types import Query

FACET_VALUES = 20
"""Largest number of values of a facet."""


def with_metadata(results: Sequence[Result], index: Index, show: Sequence[str] | None = None) -> list[Result]:
    """Return results with the metadata of their documents.

    Args:
        results: results of a search of the index.
        index: the index.
        show: names of the fields, in this order; None: all.

    Raises:
        InputError: as `check_fields`.
    """
    check_fields(index, show or ())
    return [replace(result, metadata=_chosen(index.metadata(result.doc_id), show)) for result in results]


def check_fields(index: Index, names: Sequence[str]) -> Stored | None:
    """Refuse fields that no document of an index has; return its metadata.

    Raises:
        InputError: names the first such field, and suggests the nearest.
    """
    if not names:
        return index.stored
    stored = index.stored_metadata()
    for name in names:
        stored.check_field(name)
    return stored


def _chosen(metadata: dict[str, Any], show: Sequence[str] | None) -> dict[str, Any]:
    return metadata if show is None else {name: metadata[name] for name in show if name in metadata}


def facets(
    index: Index, query: Query, names: Sequence[str], filter: Filter | None = None
) -> dict[str, list[dict[str, Any]]]:
    """Count the documents with each value of some fields.

    Counted are the documents that share a term with the query and match the filter, whatever their rank. A document
    with a list counts for each of its items.

    Args:
        index: an index with metadata.
        query: the query.
        names: the fields.
        filter: restricts the documents; None: all.

    Returns:
        For each field the `FACET_VALUES` most frequent values, ``{"value": ..., "count": ...}``, most frequent first;
        ties in the order of the values.

    Raises:
        InputError: as `check_fields`, or `Index.mask`.
    """
    stored = check_fields(index, names)
    if stored is None or not names:
        return {}
    mask = np.zeros(index.n_docs, np.bool_)
    for term in index.query_terms(query):
        mask[index.postings(term)[0]] = True
    if filter is not None:
        mask &= index.mask(filter)
    return {name: _counted(stored, name, mask) for name in names}


def _counted(stored: Stored, name: str, mask: np.ndarray[Any, np.dtype[np.bool_]]) -> list[dict[str, Any]]:
    column = stored.column(name)
    counts = column.counts(mask)
    best = [(column.values[place], int(counts[place])) for place in np.argsort(-counts, kind="stable").tolist()]
    values = [{"value": value.value, "count": count} for value, count in best if count and value.kind != OBJECT]
    return values[:FACET_VALUES]
