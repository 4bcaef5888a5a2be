"""Passage vectors stored with small indexes, and encoders of queries that need no network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.index import Index
from longrank.index.sparse import SparseDocument, SparseVectors, stored_sparse, write_sparse
from longrank.index.vector_folders import VectorsKey
from longrank.index.vectors import DocumentVectors, PassageVectors, stored_vectors, write_vectors
from longrank.types import Float32s, Notes, Passage, Query, Segmentation

KEY = VectorsKey("bi-encoder tiny options", "words")
H = 16


def unit(rows: NDArray[np.floating]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return (rows / np.where(lengths == 0, 1, lengths)).astype(np.float32)


def random_vectors(index: Index, *, seed: int = 3, largest: int = 6) -> list[NDArray[np.float32]]:
    """1 to `largest` unit vectors for each document; some are equal, and some are zero."""
    rng = np.random.default_rng(seed)
    rows = [rng.integers(-1, 2, (int(rng.integers(1, largest + 1)), H)) for _ in range(len(index))]
    return [unit(of_document) for of_document in rows]


def store(index: Index, vectors: list[NDArray[np.float32]], name: str = "tiny-words", **more: Any) -> PassageVectors:
    def documents() -> Iterator[DocumentVectors]:
        for number, rows in enumerate(vectors):
            doc_id = index.doc_id(number)
            text = index.document(doc_id).text
            spans = [(min(5 * n, len(text)), min(5 * n + 5, len(text))) for n in range(len(rows))]
            passages = tuple(Passage(doc_id, n, text[a:b], a, b) for n, (a, b) in enumerate(spans))
            yield DocumentVectors(Segmentation(passages, len(rows)), rows, np.zeros(len(rows), np.bool_))

    write_vectors(index, name, KEY, vectors[0].shape[1], documents(), **more)
    return stored_vectors(index, name)


def store_sparse(index: Index, seed: int, name: str = "tiny-words") -> SparseVectors:
    """Store drawn sparse vectors, one or two passages of a document."""
    rng = np.random.default_rng(seed)

    def documents() -> Iterator[SparseDocument]:
        for number in range(len(index)):
            n = int(rng.integers(1, 3))
            passages = tuple(Passage(index.doc_id(number), place, "", 0, 0) for place in range(n))
            terms = np.concatenate([np.sort(rng.permutation(50)[:7]) for _ in range(n)]).astype(np.int32)
            weights = rng.random(7 * n, np.float32) + 1
            lengths, truncated = np.full(n, 7, np.int64), np.zeros(n, np.bool_)
            yield SparseDocument(Segmentation(passages, n), lengths, terms, weights, truncated)

    write_sparse(index, name, KEY, documents())
    return stored_sparse(index, name)


def encode(query: Query, notes: Notes | None = None) -> Float32s:
    """A unit vector that depends on the text alone."""
    rng = np.random.default_rng(list(query.text.encode()))
    return unit(rng.normal(size=(1, H)))[0]
