"""Learned sparse vectors of passages stored with an index: the vectors, and their inverted index.

    INDEX/sparse/<model>-<passages>/
        lengths     int64[n]        weights of each passage; passages document after document
        terms       int32[w]        terms of each passage, ascending
        weights     float32[w]      their weights
        postings    uint64[V + 1]   first posting of each term of the vocabulary
        rows        uint32[w]       passages of each term, ascending
        impacts     float32[w]      their weights
        truncated   uint8[n]        1: the model could not read the passage to its end
        passages, starts, ends      int32[n], index, first and last code point of each passage
        numbers     int32[D]        passages of each document before a cap
        offsets     uint64[D + 1]   first passage of each document; documents by number
        hashes      uint8[D, 16]    hash of each document, to find its vectors after a change of the index
        manifest.json               as of `longrank.index.vectors`

Vectors are written to a hidden folder, which is renamed when whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.errors import IntegrityError
from longrank.index.arrays import mapped, write_array
from longrank.index.reader import Index
from longrank.index.vector_folders import (
    SPARSE_FOLDERS,
    VectorsKey,
    documents_by_hash,
    reading_manifest,
    write_passages,
)
from longrank.storage import open_manifest
from longrank.types import Document, Float32s, Notes, Passage, Segmentation

_TYPES = {
    "lengths": "<i8",
    "terms": "<i4",
    "weights": "<f4",
    "postings": "<u8",
    "rows": "<u4",
    "impacts": "<f4",
    "truncated": "u1",
    "passages": "<i4",
    "starts": "<i4",
    "ends": "<i4",
    "numbers": "<i4",
    "offsets": "<u8",
}
_VALUES = ("lengths", "terms", "weights", "truncated")  # of the passages


class SparseDocument(NamedTuple):
    """Sparse vectors of a document: passages; int64[P]; int32[w] and float32[w]; bool[P]: truncated."""

    segmentation: Segmentation
    lengths: NDArray[np.int64]
    terms: NDArray[np.int32]
    weights: Float32s
    truncated: NDArray[np.bool_]


class SparseVectors:
    """Stored sparse vectors, memory-mapped; opened by `stored_sparse`.

    Raises:
        IntegrityError: a file is missing, of another size, or disagrees with another.
    """

    def __init__(self, folder: Path) -> None:
        manifest = open_manifest(folder)
        self.path, self.model = folder, str(manifest.get("model", ""))
        with reading_manifest(folder):
            self.encoder, self.segmenter = str(manifest["encoder"]), str(manifest["segmenter"])
        self._files = {name: mapped(folder / name, kind) for name, kind in _TYPES.items()}
        self.offsets: NDArray[np.int64] = self._files["offsets"].astype(np.int64)
        self.postings: NDArray[np.int64] = self._files["postings"].astype(np.int64)
        self.rows, self.impacts = self._files["rows"], self._files["impacts"]
        n, w = int(self.offsets[-1]) if len(self.offsets) else -1, len(self._files["terms"])
        if any(len(self._files[name]) != n for name in ("lengths", "truncated", "passages", "starts", "ends")) or any(
            len(self._files[name]) != w for name in ("weights", "rows", "impacts")
        ):
            raise IntegrityError(f"{folder}: files of different lengths; remove the folder and store them again")

    def __len__(self) -> int:
        return int(self.offsets[-1])

    def scores(self, terms: NDArray[np.int32], weights: Float32s) -> Float32s:
        """Return the products of all passages with a query, float32[n]: summed in float64, term after term.

        Args:
            terms: int32[w], ascending.
            weights: float32[w].

        Raises:
            IntegrityError: a stored weight is not finite.
        """
        sums = np.zeros(len(self), np.float64)
        for term, weight in zip(terms.tolist(), weights.astype(np.float64).tolist(), strict=True):
            if term + 1 < len(self.postings):
                some = slice(*self.postings[term : term + 2].tolist())
                sums[self.rows[some]] += weight * self.impacts[some].astype(np.float64)
        if not np.isfinite(sums).all():
            raise IntegrityError(f"{self.path}: a weight is not finite; store the vectors again")
        return sums.astype(np.float32)

    @cached_property
    def _firsts(self) -> NDArray[np.int64]:
        """First weight of each passage, int64[n + 1]."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self._files["lengths"])])

    def documents(self) -> dict[bytes, int]:
        """Return the number of each document by its hash."""
        return documents_by_hash(self.path)

    def document(self, number: int, document: Document) -> SparseDocument:
        """Return the vectors of the document of a number, whose content has not changed."""
        rows = slice(*self.offsets[number : number + 2].tolist())
        lengths = self._files["lengths"][rows]
        some = slice(int(self._firsts[rows.start]), int(self._firsts[rows.stop]))
        columns = (self._files[name][rows].tolist() for name in ("passages", "starts", "ends"))
        spans = zip(*columns, strict=True)
        passages = tuple(Passage(document.doc_id, n, document.text[a:b], a, b) for n, a, b in spans)
        segmentation = Segmentation(passages, int(self._files["numbers"][number]))
        truncated = self._files["truncated"][rows].astype(np.bool_)
        return SparseDocument(
            segmentation, lengths, self._files["terms"][some], self._files["weights"][some], truncated
        )


def stored_sparse(index: Index, name: str = "", model: Callable[[], str] | None = None) -> SparseVectors:
    """Return the sparse vectors of a folder's name; without a name, the only vectors of the index, or of a model.

    `model` gives the fingerprint of the model.

    Raises:
        InputError, IntegrityError: as `VectorFolders.choose`.
        IntegrityError: a file is missing or of another size.
    """
    with SPARSE_FOLDERS.chosen(index, name, model) as folder:
        return SparseVectors(folder)


def write_sparse(
    index: Index,
    name: str,
    key: VectorsKey,
    documents: Iterable[SparseDocument],
    *,
    model: str = "",
    notes: Notes | None = None,
) -> Path:
    """Store the sparse vectors of all documents of an index; vectors of the same name and model are replaced.

    The inverted index takes 8 bytes of memory per weight while it is made.

    Args:
        index: the index.
        name: folder name, made of the model and the passages; another one if it holds vectors of another model.
        key: encoder and passages.
        documents: one entry per document, in the order of the index.
        model: alias or Hugging Face name of the model; empty for a folder.
        notes: says that vectors of another model stay.

    Returns:
        The folder.

    Raises:
        InputError: the index cannot be written to, or another process is writing to it.
    """
    meta = SPARSE_FOLDERS.identity(key) | ({"model": model} if model else {})
    rows = ((document.segmentation, document._asdict()) for document in documents)

    def write(folder: Path) -> None:
        write_passages(folder, {name: _TYPES[name] for name in _VALUES}, rows)
        _write_postings(folder)

    return SPARSE_FOLDERS.store(index, name, meta, write, Notes() if notes is None else notes)


def _write_postings(folder: Path) -> None:
    """Invert the vectors: the postings of each term, passages ascending."""
    from scipy.sparse import csr_array

    lengths, terms, weights = (mapped(folder / name, _TYPES[name]) for name in ("lengths", "terms", "weights"))
    firsts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    n_terms = int(terms.max()) + 1 if len(terms) else 0
    columns = csr_array((weights, terms, firsts), shape=(len(lengths), n_terms)).tocsc()
    write_array(folder / "postings", columns.indptr, _TYPES["postings"])
    write_array(folder / "rows", columns.indices, _TYPES["rows"])
    write_array(folder / "impacts", columns.data, _TYPES["impacts"])
