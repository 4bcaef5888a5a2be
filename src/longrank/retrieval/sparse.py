"""Learned sparse retrieval: documents by the products of their best passages with the query, from an inverted index."""

from __future__ import annotations

import threading
from collections.abc import Callable
from copy import copy
from typing import Annotated, Any, Self

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from longrank.errors import InputError, IntegrityError
from longrank.index import Index
from longrank.index.sparse import SparseVectors, stored_sparse
from longrank.retrieval.nearest import candidates, pooled
from longrank.retrieval.searcher import Hits, check
from longrank.types import Float32s, Notes, Query, ScoredDoc, scored_docs

SparseEncode = Callable[[Query], tuple[NDArray[np.int32], Float32s]]
"""Query -> terms, int32[w], ascending, and weights, float32[w]."""

NO_WEIGHTS = "queries without a weight, not searched"


class Sparse:
    """Ranks documents by the summed products of their `best` passages with the query; safe to use from several threads.

    A document that shares no weighted term with the query is not found, as with BM25.

    Args:
        index: the index of the documents.
        stored: sparse vectors of their passages.
        encode: encodes a query.
        best: passages that count, the best of each document; 1: MaxP.
        notes: counts queries without weights.

    Raises:
        IntegrityError: a document without a passage.
    """

    parallel = False

    def __init__(
        self,
        index: Index,
        stored: SparseVectors,
        encode: SparseEncode,
        *,
        best: int = 1,
        notes: Notes | None = None,
    ) -> None:
        if (np.diff(stored.offsets) < 1).any() or len(stored.offsets) != len(index) + 1:
            raise IntegrityError(f"{stored.path}: a document has no vector; store the vectors again")
        self.index, self.stored, self.best = index, stored, best
        self.notes = Notes() if notes is None else notes
        self._encode, self._lock = encode, threading.Lock()
        self._mask: NDArray[np.bool_] | None = None

    def within(self, mask: NDArray[np.bool_]) -> Self:
        """Return the same first stage among the documents of a mask, bool[D]; scores stay the same."""
        retriever = copy(self)
        retriever._mask = mask
        return retriever

    def noting(self, notes: Notes) -> Self:
        """Return the same first stage with other notes."""
        retriever = copy(self)
        retriever.notes = notes
        return retriever

    def retrieve(self, query: Query, k: int) -> list[ScoredDoc]:
        """Return at most `k` documents, best first; none for a query without weights.

        Raises:
            InputError: k < 1.
            IntegrityError: a stored weight is not finite.
        """
        hits = self.search(query, k)
        return scored_docs(query.query_id, self.index.doc_ids(hits.numbers), hits.scores.tolist())

    def search(self, query: Query, k: int) -> Hits:
        """Return numbers and scores of the documents; raises as `retrieve`."""
        check("k", k, k >= 1, "at least 1")
        with self._lock:  # a tokenizer is not safe to share
            terms, weights = self._encode(query) if query.text.strip() else _NOTHING
        if not len(terms):
            self.notes.add(NO_WEIGHTS, query.query_id)
            return Hits(np.empty(0, np.int64), np.empty(0, np.float32))
        documents = pooled(self.stored.scores(terms, weights), self.stored.offsets, self.best)
        found = documents > 0 if self._mask is None else (documents > 0) & self._mask
        numbers = np.flatnonzero(found)
        numbers = numbers[candidates(documents[numbers], k, 0.0)]
        order = np.lexsort((self.index.id_ranks[numbers], documents[numbers]))[::-1][:k]
        return Hits(numbers[order], documents[numbers][order])


_NOTHING = np.empty(0, np.int32), np.empty(0, np.float32)


def open_sparse(
    index: Index,
    *,
    vectors: str = "",
    model: str | None = None,
    best: Annotated[int, Ge(1)] = 1,
    notes: Notes | None = None,
) -> Sparse:
    """All documents by their best passages: products of learned sparse vectors.

    Args:
        index: an index with sparse vectors.
        vectors: name of the vectors; empty: the only sparse vectors of the index.
        model: model of the vectors, a name or a folder; None: as the vectors say.
        best: passages whose products are added; 1: MaxP.
        notes: counts queries without weights, and queries that the model cuts.

    Raises:
        InputError: no such vectors, or vectors of another model.
        MissingExtra: the extras for neural networks are not installed.
        IntegrityError: damaged vectors.
    """
    notes, stored = Notes() if notes is None else notes, stored_sparse(index, vectors)
    name = model or stored.model
    if not name:
        raise InputError("the vectors do not name their model", path=stored.path, fix="name its folder: --set model=")
    from longrank.networks.learned_sparse import SparseModel
    from longrank.networks.model_files import find_model

    encoder: Any = SparseModel(find_model(name), notes)
    if not stored.encoder.startswith(f"sparse {encoder.model.fingerprint} "):
        fix = "name the model of the vectors, or store vectors again"
        raise InputError("the sparse vectors are of another model", path=stored.path, got=name, fix=fix)
    return Sparse(index, stored, encoder.query_weights, best=best, notes=notes)
