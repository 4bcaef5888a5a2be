"""Passage vectors stored with an index, so that a search does not encode passages.

    INDEX/vectors/<model>-<passages>/       another model of the same name: <model>-<passages>-<fingerprint's beginning>
        vectors     float32[n, H]   unit vectors (or zeros) of all passages, document after document
        int8        int8[n, H]      the same, rounded (`longrank.index.int8`), for a search that reads less memory (+)
        scales      float32[n]      factor of each rounded vector (+)
        errors      float32[n]      length of each rounding error, or a little more (+)
        truncated   uint8[n]        1: the model could not read the passage to its end
        passages    int32[n]        index of each passage in its document
        starts      int32[n]        first code point of each passage in the document's text (*)
        ends        int32[n]        one past the last (*)
        numbers     int32[D]        passages of each document before a cap (*)
        offsets     uint64[D + 1]   first passage of each document; documents by number
        hashes      uint8[D, 16]    hash of each document, to find its vectors after a change of the index (*)
        manifest.json               the `VectorsKey`, the model's name unless it is a folder, and a checksum of each
                                    file; written last

Files marked (*) tell the passages without splitting the document again; vectors written by version 0.1 lack them.
Files marked (+) are there if they were asked for (``--vectors-dtype int8``).
Vectors are written to a hidden folder, which is renamed when whole. They are used only if encoder, passages, title
and index are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.errors import IntegrityError
from longrank.index.arrays import Array, mapped
from longrank.index.folder import unlisted_vectors
from longrank.index.int8 import Int8Rows, int8_rows
from longrank.index.reader import Index
from longrank.index.vector_folders import DENSE_FOLDERS, VectorsKey, opening, reading_manifest, write_passages
from longrank.storage import open_manifest, read_manifest
from longrank.types import Document, Notes, Passage, Segmentation

_IDENTITY = ("format", "version", "index", *VectorsKey._fields)  # in the order of messages

VectorsType = Literal["float32", "int8"]
"""Type of the numbers that a search compares first: the vectors themselves, or their 8-bit copies."""
INT8_FILES = {"int8": "i1", "scales": "<f4", "errors": "<f4"}


class DocumentVectors(NamedTuple):
    """Vectors of a document: its passages, vectors float32[P, H], and bool[P]: truncated."""

    segmentation: Segmentation
    vectors: NDArray[np.float32]
    truncated: NDArray[np.bool_]


class Spans(NamedTuple):
    """Stored passages of a document: int32[P] index, start and end; float32[P, H]; bool[P]; passages before a cap."""

    indices: NDArray[np.int32]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    vectors: NDArray[np.float32]
    truncated: NDArray[np.bool_]
    n_passages: int


class PassageVectors:
    """Stored vectors, memory-mapped; opened by `find_vectors` or `stored_vectors`.

    Attributes:
        path: their folder.
        dimension: H.
        encoder: fingerprint of the encoder.
        segmenter: fingerprint of the segmenter.
        model: alias or Hugging Face name of the encoder's model; empty for a folder.
        digest: SHA-256 of the vectors.
        int8: the vectors as 8-bit numbers; None if they are not stored.
    """

    def __init__(self, folder: Path, index: Index, n_docs: int | None = None) -> None:
        """Open vectors of the documents of an index; `n_docs`: of an earlier state with so many documents."""
        manifest = open_manifest(folder)
        self.path, self._index, self.model = folder, index, str(manifest.get("model", ""))
        with reading_manifest(folder):
            self.dimension = int(manifest["dimension"])
            self.encoder, self.segmenter = str(manifest["encoder"]), str(manifest["segmenter"])
            self.digest = str(manifest["files"]["vectors"]["sha256"])
        values = mapped(folder / "vectors", "<f4")
        if self.dimension < 1 or len(values) % self.dimension:
            raise IntegrityError(f"{folder}: vectors of another dimension; remove the folder and store them again")
        self._vectors = values.reshape(-1, self.dimension)
        self._truncated = mapped(folder / "truncated", "u1")
        self._passages = mapped(folder / "passages", "<i4")
        self._offsets = mapped(folder / "offsets", "<u8")
        self._spans: tuple[NDArray[np.int32], ...] | None = None
        if "starts" in manifest["files"]:
            self._spans = tuple(mapped(folder / name, "<i4") for name in ("starts", "ends", "numbers"))
        self.int8: Int8Rows | None = None
        if vectors_type(manifest["files"]) == "int8":
            rows, scales, errors = (mapped(folder / name, kind) for name, kind in INT8_FILES.items())
            if len(rows) == len(values) and len(scales) == len(errors) == len(self._vectors):
                self.int8 = Int8Rows(rows.reshape(-1, self.dimension), scales, errors)
        n_docs = len(index) if n_docs is None else n_docs
        sizes = {len(self._vectors), len(self._truncated), len(self._passages), *self._offsets[-1:].tolist()}
        if len(sizes) > 1 or len(self._offsets) != n_docs + 1 or self.dtype != vectors_type(manifest["files"]):
            raise IntegrityError(f"{folder}: files of different lengths; remove the folder and store them again")

    def __len__(self) -> int:
        return len(self._vectors)

    @property
    def dtype(self) -> VectorsType:
        """Type of the numbers that a search compares first."""
        return "float32" if self.int8 is None else "int8"

    @property
    def matrix(self) -> NDArray[np.float32]:
        """All vectors, float32[n, H], document after document; memory-mapped."""
        return self._vectors

    @property
    def offsets(self) -> NDArray[np.uint64]:
        """First passage of each document, uint64[D + 1]; documents by number."""
        return self._offsets

    def check_finite(self, scores: NDArray[np.floating]) -> None:
        """Refuse passage scores, float[n], that are not finite.

        Raises:
            IntegrityError: names the first passage and its document.
        """
        bad = np.flatnonzero(~np.isfinite(scores))
        if bad.size:
            number = int(np.searchsorted(self._offsets, bad[0], side="right")) - 1
            passage = f"passage {self._passages[bad[0]]} of document {self._index.doc_id(number)!r}"
            raise IntegrityError(f"{self.path}: the vector of {passage} is not finite; store the vectors again")

    def segmentation(self, document: Document) -> Segmentation | None:
        """Return the passages of a document of the index; None if it is another document, or no passages are stored."""
        if self._spans is None or document.doc_id not in self._index:
            return None
        number = self._index.number(document.doc_id)
        first, last = self._offsets[number : number + 2].tolist()
        starts, ends, numbers = self._spans
        rows = zip(*(values[first:last].tolist() for values in (self._passages, starts, ends)), strict=True)
        passages = (Passage(document.doc_id, n, document.text[start:end], start, end) for n, start, end in rows)
        return Segmentation(tuple(passages), int(numbers[number]))

    @property
    def has_spans(self) -> bool:
        """True if the passages of documents are stored, too."""
        return self._spans is not None

    def spans(self, number: int) -> Spans:
        """Return the passages of the document of a number, without its text; `has_spans` must be true."""
        assert self._spans is not None
        starts, ends, numbers = self._spans
        rows = slice(*self._offsets[number : number + 2].tolist())
        truncated = self._truncated[rows].astype(np.bool_)
        return Spans(
            self._passages[rows], starts[rows], ends[rows], self._vectors[rows], truncated, int(numbers[number])
        )

    def rows(self, doc_id: str, passages: Sequence[Passage]) -> tuple[NDArray[np.float32], NDArray[np.bool_]] | None:
        """Return float32[P, H] and bool[P] (truncated) of some passages of a document.

        None if the index lacks the document or one of the passages.
        """
        try:
            number = self._index.number(doc_id)
        except KeyError:
            return None
        first, last = self._offsets[number : number + 2].tolist()
        stored = self._passages[first:last]
        indices = np.array([passage.index for passage in passages], dtype=np.int32)
        if not np.array_equal(indices, stored):
            places = np.searchsorted(stored, indices)
            if not len(stored) or not np.array_equal(stored[np.minimum(places, len(stored) - 1)], indices):
                return None
            return self._vectors[first:last][places], self._truncated[first:last][places].astype(np.bool_)
        return self._vectors[first:last], self._truncated[first:last].astype(np.bool_)


def find_vectors(index: Index, key: VectorsKey) -> tuple[PassageVectors | None, str]:
    """Return the stored vectors of `key`, or None and the reason why stored vectors do not fit, if any are stored.

    Raises:
        IntegrityError: a manifest cannot be read, or a file of the fitting vectors is missing or of another size.
    """
    reason, identity = "", {**DENSE_FOLDERS.identity(key), "index": index.digest}
    for name, folder in DENSE_FOLDERS.of(index).items():
        with opening(folder):
            manifest = read_manifest(folder)
            differing = [field for field in _IDENTITY if manifest.get(field) != identity[field]]
            if not differing:
                return PassageVectors(folder, index), ""
        reason = f"{name} has another {' and '.join(differing)}"
    for folder in unlisted_vectors(index.path, DENSE_FOLDERS.room):
        reason = f"{folder.name} cannot be listed"
    return None, reason


def stored_vectors(index: Index, name: str = "", model: Callable[[], str] | None = None) -> PassageVectors:
    """Return the stored vectors of a folder's name; without a name, the only vectors of the index, or of a model.

    `model` gives the fingerprint of the model.

    Raises:
        InputError, IntegrityError: as `VectorFolders.choose`.
        IntegrityError: a file is missing or of another size.
    """
    with DENSE_FOLDERS.chosen(index, name, model) as folder:
        return PassageVectors(folder, index)


def vectors_type(files: Container[str]) -> VectorsType:
    """Return the type of the numbers that a search of vectors with these files compares first."""
    return "int8" if "int8" in files else "float32"


def write_vectors(
    index: Index,
    name: str,
    key: VectorsKey,
    dimension: int,
    documents: Iterable[DocumentVectors],
    *,
    model: str = "",
    dtype: VectorsType = "float32",
    notes: Notes | None = None,
) -> Path:
    """Store the vectors of all documents of an index; vectors of the same name and model are replaced.

    Args:
        index: the index.
        name: folder name, made of the model and the passages; another one if it holds vectors of another model.
        key: encoder and passages.
        dimension: H.
        documents: one entry per document, in the order of the index.
        model: alias or Hugging Face name of the model; empty for a folder.
        dtype: ``int8``: also store the vectors as 8-bit numbers.
        notes: says that vectors of another model stay.

    Returns:
        The folder.

    Raises:
        InputError: the index cannot be written to, or another process is writing to it.
    """
    meta = {"dimension": dimension, **DENSE_FOLDERS.identity(key)} | ({"model": model} if model else {})
    int8 = dtype == "int8"
    rows = ((document.segmentation, _arrays(document, int8)) for document in documents)
    types = {"vectors": "<f4", "truncated": "u1", **(INT8_FILES if int8 else {})}
    return DENSE_FOLDERS.store(
        index, name, meta, lambda folder: write_passages(folder, types, rows), Notes() if notes is None else notes
    )


def _arrays(document: DocumentVectors, int8: bool) -> dict[str, Array]:
    """Return the values of a document by the file that they are appended to."""
    arrays: dict[str, Array] = {"vectors": document.vectors, "truncated": document.truncated}
    if int8:
        arrays |= zip(INT8_FILES, int8_rows(document.vectors), strict=True)
    return arrays
