"""First stages of workers: their stored vectors must be those that the command searches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from longrank.engines import changed
from longrank.index import Index
from longrank.index.shared import SharedIndex
from longrank.index.vector_folders import VectorsDoNotFit
from longrank.retrieval import vectors_of

R = TypeVar("R")


def with_vectors(make: Callable[[], R], vectors: str, place: Index | SharedIndex | str, *, graph: bool = True) -> R:
    """Return the first stage that `make` opens.

    Args:
        make: opens it.
        vectors: fingerprint of the stored vectors that it must search; empty: any, or none.
        place: the index.
        graph: False: a graph for approximate search may be used or not.

    Raises:
        Changed: its vectors are others by now, or do not fit.
        Exception: as `make`.
    """
    what = "stored vectors, or their model, changed since this command opened them"
    try:
        stage = make()
    except VectorsDoNotFit as error:
        if vectors:
            raise changed(error.path or _path(place), what) from error
        raise
    if vectors and _parts(vectors_of(stage), graph) != _parts(vectors, graph):
        raise changed(_path(place), what)
    return stage


def _parts(vectors: str, graph: bool) -> list[str]:
    """Return encoder, passages and, with `graph`, the graph that a fingerprint names."""
    return vectors.split(" | ")[: None if graph else 2]


def _path(place: Index | SharedIndex | str) -> Path | str:
    return place.place if isinstance(place, Index | SharedIndex) else place
