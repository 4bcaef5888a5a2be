"""Learned sparse retrieval: documents by the products of their best passages with the query, from an inverted index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.index import Index
from longrank.index.sparse import SparseVectors, stored_sparse
from longrank.index.vector_folders import SPARSE_FOLDERS, VectorsDoNotFit
from longrank.retrieval.nearest import candidates, pooled
from longrank.retrieval.passage_search import NOTHING, PassageSearch
from longrank.retrieval.searcher import Hits
from longrank.types import Float32s, Notes, Query

SparseEncode = Callable[[Query, Notes], tuple[NDArray[np.int32], Float32s]]
"""Query -> terms, int32[w], ascending, and weights, float32[w]."""

NO_WEIGHTS = "queries without a weight, not searched"


class Sparse(PassageSearch):
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

    def __init__(
        self,
        index: Index,
        stored: SparseVectors,
        encode: SparseEncode,
        *,
        best: int = 1,
        notes: Notes | None = None,
    ) -> None:
        super().__init__(index, stored.path, stored.offsets, notes)
        self.stored, self.best, self._encode = stored, best, encode

    @property
    def vectors(self) -> str:
        """Fingerprint of the stored vectors of an index: encoder and passages."""
        return f"{self.stored.encoder} | {self.stored.segmenter}"

    def _search(self, query: Query, k: int) -> Hits:
        with self._lock:
            terms, weights = self._encode(query, self.notes) if query.text.strip() else _NO_TERMS
        if not len(terms):
            self.notes.add(NO_WEIGHTS, query.query_id)
            return NOTHING
        documents = pooled(self.stored.scores(terms, weights), self.stored.offsets, self.best)
        found = documents > 0 if self._mask is None else (documents > 0) & self._mask
        numbers = np.flatnonzero(found)
        numbers = numbers[candidates(documents[numbers], documents[numbers], k)]
        order = np.lexsort((self.index.id_ranks[numbers], documents[numbers]))[::-1][:k]
        return Hits(numbers[order], documents[numbers][order])


_NO_TERMS = np.empty(0, np.int32), np.empty(0, np.float32)


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
        vectors: name of the vectors; empty: the only sparse vectors of the index, or of `model`.
        model: model of the vectors, a name or a folder; None: as the vectors say.
        best: passages whose products are added; 1: MaxP.
        notes: counts queries without weights, and queries that the model cuts.

    Raises:
        InputError: no such vectors, or vectors of another model.
        MissingExtra: the extras for neural networks are not installed.
        IntegrityError: damaged vectors.
    """
    from longrank.networks.learned_sparse import SparseModel
    from longrank.networks.model_files import find_model

    notes = Notes() if notes is None else notes
    stored = stored_sparse(index, vectors, None if model is None else lambda: find_model(model).fingerprint)
    name = model or stored.model
    if not name:
        raise InputError("the vectors do not name their model", path=stored.path, fix="name its folder: --set model=")
    encoder: Any = SparseModel(find_model(name), notes)
    if not stored.encoder.startswith(f"{encoder.weights} "):
        if stored.encoder.startswith(
            f"sparse {encoder.model.fingerprint} "
        ):  # stored again, they would be a second set
            what, fix = (
                "the sparse vectors were stored with other settings of the model",
                "remove this folder, and then ",
            )
            fix += SPARSE_FOLDERS.fix.format(index.place)
            raise VectorsDoNotFit(what, path=stored.path, got=name, fix=fix)
        fix = "name the model of the vectors, or store vectors again"
        raise VectorsDoNotFit("the sparse vectors are of another model", path=stored.path, got=name, fix=fix)
    return Sparse(index, stored, encoder.query_weights, best=best, notes=notes)
