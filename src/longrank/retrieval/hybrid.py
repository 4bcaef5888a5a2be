"""Hybrid retrieval: a first stage of words and dense passages, fused."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Annotated, Literal, Self

import numpy as np
from annotated_types import Ge, Interval
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.fusion import linear, rrf
from longrank.index import Index
from longrank.retrieval.dense import open_dense
from longrank.retrieval.expanded import WithFeedback
from longrank.retrieval.passage_search import PassageSearch
from longrank.retrieval.searcher import ExpandedQuery, Searcher, check
from longrank.retrieval.sparse import open_sparse
from longrank.types import Notes, Query, Run, ScoredDoc

DEPTH = 1000
"""Least number of documents of each ranking that are fused, where none is given."""


class Hybrid:
    """Fuses the rankings of two first stages.

    Args:
        words: ranks by words.
        dense: ranks by passage vectors, dense or sparse.
        fuse: fuses two runs, words first.
        depth: documents of each ranking that are fused; None: 1,000, more if more are retrieved.
    """

    def __init__(
        self,
        words: Searcher | WithFeedback,
        dense: PassageSearch,
        fuse: Callable[..., Run] = rrf,
        *,
        depth: int | None = None,
    ) -> None:
        self.words, self.dense, self._fuse, self._depth = words, dense, fuse, depth

    @property
    def vectors(self) -> str:
        """Fingerprint of the stored vectors."""
        return self.dense.vectors

    @property
    def notes(self) -> Notes:
        """Notes of the first stages."""
        return self.words.notes

    def within(self, mask: NDArray[np.bool_]) -> Self:
        """Return the same first stage among the documents of a mask, bool[D]: the masked rankings are fused."""
        retriever = copy(self)
        retriever.words = self.words.within(mask)
        retriever.dense = self.dense.within(mask)
        return retriever

    def noting(self, notes: Notes) -> Self:
        """Return the same first stage with other notes."""
        retriever = copy(self)
        retriever.words = self.words.noting(notes)
        retriever.dense = self.dense.noting(notes)
        return retriever

    def weighted(self, weight: float) -> Self:
        """Return the same first stage with min-max normalised scores; the dense scores have a weight in [0, 1]."""
        retriever = copy(self)
        retriever._fuse = _minmax(weight)
        return retriever

    def expand(self, query: Query) -> ExpandedQuery:
        """Return the terms that the first stage of words searches for."""
        return self.words.expand(query)

    def retrieve(self, query: Query, k: int) -> list[ScoredDoc]:
        """Return at most `k` documents, best first.

        Raises:
            InputError: k < 1.
            IntegrityError: a stored vector is not finite.
        """
        check("k", k, k >= 1, "at least 1")
        depth = self._depth or max(k, DEPTH)
        runs = [Run("fused", stage.retrieve(query, depth)) for stage in (self.words, self.dense)]
        return list(self._fuse(runs, tag="hybrid").get(query.query_id)[:k])


def open_hybrid(
    index: Index,
    words: Searcher | WithFeedback,
    *,
    vectors: str = "",
    model: str | None = None,
    best: Annotated[int, Ge(1)] = 1,
    method: Literal["rrf", "minmax"] = "rrf",
    weight: Annotated[float, Interval(ge=0, le=1)] | None = None,
    depth: Annotated[int, Ge(1)] | None = None,
    exact: bool = False,
    notes: Notes | None = None,
) -> Hybrid:
    """A first stage of words and dense passages, fused.

    Args:
        index: an index with passage vectors.
        words: ranks by words.
        vectors: as of `open_dense`, as are `model` and `best`.
        model: model of the vectors.
        best: passages whose cosines are added.
        method: ``rrf``: reciprocal ranks; ``minmax``: weighted scores, each min-max normalised per query.
        weight: of the dense scores with ``minmax``; default .5; BM25 has the rest.
        depth: documents of each ranking that are fused, whatever is retrieved; None: 1,000, more if more are retrieved.
        exact: as of `open_dense`.
        notes: as of `open_dense`.

    Raises:
        InputError: as `open_dense`, or a weight with ``rrf``.
        MissingExtra, IntegrityError: as `open_dense`.
    """
    fuse = _fusion(method, weight)
    dense = open_dense(index, vectors=vectors, model=model, best=best, exact=exact, notes=notes)
    return Hybrid(words, dense, fuse, depth=depth)


def open_sparse_hybrid(
    index: Index,
    words: Searcher | WithFeedback,
    *,
    vectors: str = "",
    model: str | None = None,
    best: Annotated[int, Ge(1)] = 1,
    method: Literal["rrf", "minmax"] = "rrf",
    weight: Annotated[float, Interval(ge=0, le=1)] | None = None,
    depth: Annotated[int, Ge(1)] | None = None,
    notes: Notes | None = None,
) -> Hybrid:
    """A first stage of words and passages by learned sparse vectors, fused.

    Args:
        index: an index with sparse vectors.
        words: ranks by words.
        vectors: as of `open_sparse`, as are `model` and `best`.
        model: model of the vectors.
        best: passages whose products are added.
        method: as of `open_hybrid`, as are `weight` (of the sparse scores) and `depth`.
        weight: of the sparse scores with ``minmax``.
        depth: documents of each ranking that are fused, whatever is retrieved; None: 1,000, more if more are retrieved.
        notes: as of `open_sparse`.

    Raises:
        InputError: as `open_sparse`, or a weight with ``rrf``.
        MissingExtra, IntegrityError: as `open_sparse`.
    """
    fuse = _fusion(method, weight)
    return Hybrid(words, open_sparse(index, vectors=vectors, model=model, best=best, notes=notes), fuse, depth=depth)


def _fusion(method: str, weight: float | None) -> Callable[..., Run]:
    if method == "rrf" and weight is not None:
        raise InputError("reciprocal ranks have no weight", got=f"weight={weight}", fix="add --set method=minmax")
    return rrf if method == "rrf" else _minmax(0.5 if weight is None else weight)


def _minmax(weight: float) -> Callable[..., Run]:
    return partial(linear, weights=[1 - weight, weight], normalize="minmax")
