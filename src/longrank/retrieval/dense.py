"""Dense retrieval: documents by the cosines of their best passages, from the vectors stored with an index."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated

from annotated_types import Ge

from longrank.errors import InputError, IntegrityError
from longrank.index import Index
from longrank.index.vector_folders import VectorsDoNotFit
from longrank.index.vectors import PassageVectors, stored_vectors
from longrank.retrieval.approximate import Graph, open_graph
from longrank.retrieval.encoding import load_encoder, query_vector
from longrank.retrieval.nearest import best_documents
from longrank.retrieval.passage_search import NOTHING, PassageSearch
from longrank.retrieval.searcher import Hits
from longrank.types import Float32s, Notes, Query

Encode = Callable[[Query, Notes], Float32s]
"""Query -> unit vector, float32[H]."""

NO_TEXT = "queries without text, not encoded"
FEWER = "queries for which approximate search reached fewer documents than asked for (--set exact=true finds all)"


class Dense(PassageSearch):
    """Ranks all documents by the summed cosines of their `best` passages; safe to use from several threads.

    Args:
        index: the index of the documents.
        stored: vectors of their passages.
        encode: encodes a query.
        best: passages that count, the best of each document; 1: MaxP.
        graph: finds the passages approximately, but for a filter; None: exact search.
        notes: counts queries without text.

    Raises:
        IntegrityError: a document without a passage.
    """

    def __init__(
        self,
        index: Index,
        stored: PassageVectors,
        encode: Encode,
        *,
        best: int = 1,
        graph: Graph | None = None,
        notes: Notes | None = None,
    ) -> None:
        super().__init__(index, stored.path, stored.offsets, notes)
        self.stored, self.best, self.graph, self._encode = stored, best, graph, encode

    @property
    def vectors(self) -> str:
        """Fingerprint of the stored vectors of an index: encoder, passages, and the method of approximate search."""
        return " | ".join([self.stored.encoder, self.stored.segmenter, *([self.graph.method] if self.graph else [])])

    def _search(self, query: Query, k: int) -> Hits:
        if not query.text.strip():
            self.notes.add(NO_TEXT, query.query_id)
            return NOTHING
        with self._lock:
            vector = self._encode(query, self.notes)
        if self.graph is not None and self._mask is None:
            hits = self.graph.best_documents(vector, self.index.id_ranks, k)
            if len(hits.numbers) < min(k, len(self.index)):
                self.notes.add(FEWER, query.query_id)
            return hits
        return Hits(*best_documents(self.stored, vector, self.index.id_ranks, k, best=self.best, mask=self._mask))


def open_dense(
    index: Index,
    *,
    vectors: str = "",
    model: str | None = None,
    best: Annotated[int, Ge(1)] = 1,
    exact: bool = False,
    notes: Notes | None = None,
) -> Dense:
    """All documents by their best passages: cosines of stored vectors.

    Args:
        index: an index with passage vectors.
        vectors: name of the vectors; empty: the only vectors of the index, or of `model`.
        model: model of the vectors, a name or a folder; None: as the vectors say.
        best: passages whose cosines are added; 1: MaxP. More are always searched exactly.
        exact: compare all vectors, even if a graph for approximate search is stored with them.
        notes: counts queries without text, and queries that the model cuts; says if the search is approximate.

    Raises:
        InputError: no such vectors, or vectors of another model.
        MissingExtra: the extras for neural networks are not installed.
        IntegrityError: damaged vectors.
    """
    from longrank.networks.model_files import find_model

    notes = Notes() if notes is None else notes
    stored = stored_vectors(index, vectors, None if model is None else lambda: find_model(model).fingerprint)
    encode = open_encoder(stored, model, notes)
    graph = None if exact or best > 1 else open_graph(stored)
    if graph is not None:
        notes.say(f"approximate search, recall@100 {graph.recall:.3f} of passages; exact: --set exact=true")
    return Dense(index, stored, encode, best=best, graph=graph, notes=notes)


def open_encoder(stored: PassageVectors, model: str | None, notes: Notes) -> Encode:
    """Load the model of stored vectors and return its encoder of queries.

    Raises:
        InputError: a model that cannot be loaded, or another model than the vectors'.
        MissingExtra: the extras for neural networks are not installed.
    """
    name = model or stored.model or ("minilm" if stored.path.name.startswith("minilm-") else "")
    if not name:
        raise InputError("the vectors do not name their model", path=stored.path, fix="name its folder: --set model=")
    encoder = load_encoder(name, notes)
    if not stored.encoder.startswith(f"bi-encoder {encoder.model.fingerprint} "):
        fix = "name the model of the vectors, or store vectors again"
        raise VectorsDoNotFit("the vectors are of another model", path=stored.path, got=name, fix=fix)
    if encoder.dimension != stored.dimension:
        raise IntegrityError(f"{stored.path}: dimension {stored.dimension}, the model has {encoder.dimension}")
    return partial(query_vector, encoder)
