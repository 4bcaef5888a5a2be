"""Blocks of queries answered by the workers of an engine; the rankings are those of a single process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.engines import Engine, in_order, opening_here
from longrank.index import Index
from longrank.index.filters import Filter
from longrank.index.shared import SharedIndex
from longrank.retrieval import FirstStage, open_retriever, retrieve_all
from longrank.retrieval.unchanged import with_vectors
from longrank.types import Notes, Query, Ranking

_BLOCK = 64  # queries


class _Packed(NamedTuple):
    """A ranking as it travels: an array takes a small part of the time of as many numbers."""

    query_id: str
    doc_ids: Sequence[str]
    scores: NDArray[np.float64]


@dataclass
class Search:
    """A first stage over an index, which a worker opens for itself at its first block.

    Attributes:
        source: an index, or the address of another engine's.
        stage: the first stage.
        filter: filter of the documents.
        k: documents per query.
        threads: search threads.
        vectors: fingerprint of the stored vectors that a worker must find; empty: any.
    """

    source: Index | SharedIndex | str
    stage: FirstStage
    filter: Filter | None
    k: int
    threads: int = 1
    vectors: str = ""
    _opened: Any = field(default=None, init=False)

    def open(self, notes: Notes) -> Any:
        """Return the retriever.

        Raises:
            Changed: the index or its vectors changed since another process opened them.
            InputError, IntegrityError: as `open_retriever`.
        """
        source = self.source.open() if isinstance(self.source, SharedIndex) else self.source
        make = partial(open_retriever, source, self.stage, notes=notes, filter=self.filter)
        return with_vectors(make, self.vectors, self.source)

    def __call__(self, queries: Sequence[Query]) -> tuple[list[_Packed], Notes]:
        """Return the ranking of each query of a block, and the remarks on it."""
        if self._opened is None:
            with opening_here():
                self._opened = self.open(Notes())
        notes = Notes()
        found = retrieve_all(self._opened.noting(notes), queries, self.k, self.threads)
        return [_Packed(query_id, doc_ids, np.array(scores)) for query_id, doc_ids, scores in found], notes


def answers_by(
    engine: Engine, search: Search, queries: Sequence[Query], notes: Notes, *, vectors: str = ""
) -> Iterator[Ranking]:
    """Yield the ranking of each query, in order, by the workers of an engine; `notes` takes their remarks.

    Args:
        engine: the engine.
        search: the first stage.
        queries: the queries.
        notes: takes remarks.
        vectors: fingerprint of the stored vectors that this process opened, if any.

    Raises:
        Changed: the index or its vectors changed since this process opened them.
        InputError, IntegrityError: as `open_retriever`, where a worker opens the index.
    """
    source = SharedIndex.of(search.source) if isinstance(search.source, Index) else search.source
    search = replace(search, source=source, threads=engine.threads or 1, vectors=vectors)
    blocks = (queries[first : first + _BLOCK] for first in range(0, len(queries), _BLOCK))
    for rankings, made in in_order(engine.each(search, blocks)):
        notes.merge(made)
        for query_id, doc_ids, scores in rankings:
            yield Ranking(query_id, doc_ids, scores.tolist())
