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

import re
from collections.abc import Iterable
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.config import suggestion
from longrank.errors import InputError, IntegrityError
from longrank.index.arrays import ArrayWriter, mapped, write_array
from longrank.index.content_hashes import SIZE, hash_of
from longrank.index.folder import SPARSE, building
from longrank.index.publishing import discard
from longrank.index.reader import Index
from longrank.index.vectors import VectorsKey
from longrank.storage import MANIFEST, open_manifest, read_manifest, sync_folder, write_manifest
from longrank.types import Document, Float32s, Passage, Segmentation

FORMAT, VERSION = "longrank sparse vectors", 1
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
    "hashes": "u1",
}


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
        self.encoder, self.segmenter = str(manifest["encoder"]), str(manifest["segmenter"])
        self._files = {name: mapped(folder / name, kind) for name, kind in _TYPES.items()}
        self.offsets: NDArray[np.int64] = self._files["offsets"].astype(np.int64)
        self.postings: NDArray[np.int64] = self._files["postings"].astype(np.int64)
        self.rows, self.impacts = self._files["rows"], self._files["impacts"]
        n, w = len(self), len(self._files["terms"])
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
        hashes = self._files["hashes"].tobytes()
        return {hashes[start : start + SIZE]: n for n, start in enumerate(range(0, len(hashes), SIZE))}

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


def is_sparse_of(folder: Path, key: VectorsKey, digest: str | None = None) -> bool:
    """Tell whether a folder has vectors of this encoder and these passages, and (with a digest) of this index.

    Raises:
        IntegrityError: the manifest cannot be read.
    """
    manifest = read_manifest(folder)
    identity = {"format": FORMAT, "version": VERSION, **key._asdict()} | ({} if digest is None else {"index": digest})
    return all(manifest.get(name) == value for name, value in identity.items())


def sparse_folders(index: Index) -> dict[str, Path]:
    """Return the folders of finished sparse vectors by name."""
    return {path.parent.name: path.parent for path in sorted((index.path / SPARSE).glob(f"*/{MANIFEST}"))}


def stored_sparse(index: Index, name: str = "") -> SparseVectors:
    """Return the sparse vectors of a folder's name; without a name, the only ones of the index.

    Raises:
        InputError: no such vectors, vectors of several names, or vectors of other documents.
        IntegrityError: a manifest cannot be read, or a file is missing or of another size.
    """
    folders, fix = sparse_folders(index), f"store them: longrank index {index.path} --sparse MODEL"
    if not folders:
        raise InputError("the index has no sparse vectors", path=index.path, fix=fix)
    if not name and len(folders) > 1:
        raise InputError("the index has several sets of sparse vectors", got=", ".join(folders), fix="name one of them")
    name = name or next(iter(folders))
    if name not in folders:
        raise InputError("the index has no sparse vectors of this name", got=name, fix=suggestion(name, folders))
    manifest = read_manifest(folders[name])
    if (manifest.get("format"), manifest.get("version"), manifest.get("index")) != (FORMAT, VERSION, index.digest):
        raise InputError("these vectors are of other documents or another version", path=folders[name], fix=fix)
    return SparseVectors(folders[name])


def write_sparse(
    index: Index, name: str, key: VectorsKey, documents: Iterable[SparseDocument], *, model: str = ""
) -> Path:
    """Store the sparse vectors of all documents of an index; vectors of the same name are replaced.

    The inverted index takes 8 bytes of memory per weight while it is made.

    Args:
        index: the index.
        name: folder name, made of the model and the passages.
        key: encoder and passages.
        documents: one entry per document, in the order of the index.
        model: alias or Hugging Face name of the model; empty for a folder.

    Returns:
        The folder.

    Raises:
        InputError: the index cannot be written to, or another process is writing to it.
    """
    meta = {"format": FORMAT, "version": VERSION, "index": index.digest, **key._asdict()}
    meta |= {"model": model} if model else {}
    target = index.path / SPARSE / re.sub(r"[^\w.-]+", "-", name)
    with building(index.path) as work:
        _write_vectors(work, documents)
        with ArrayWriter(work / "hashes", "u1") as hashes:
            for document in index:
                hashes.append(np.frombuffer(hash_of(document), np.uint8))
        _write_postings(work)
        write_manifest(work, meta)
        target.parent.mkdir(exist_ok=True)
        discard(target, index.path)
        work.rename(target)
        sync_folder(target.parent)
        sync_folder(index.path)
    return target


def _write_vectors(folder: Path, documents: Iterable[SparseDocument]) -> None:
    offset = 0
    names = ("lengths", "terms", "weights", "truncated", "passages", "starts", "ends", "numbers", "offsets")
    with ExitStack() as stack:
        files = {name: stack.enter_context(ArrayWriter(folder / name, _TYPES[name])) for name in names}
        files["offsets"].append([0])
        for (passages, n_passages, _), lengths, terms, weights, truncated in documents:
            for name, values in (
                ("lengths", lengths),
                ("terms", terms),
                ("weights", weights),
                ("truncated", truncated),
            ):
                files[name].append(values)
            files["passages"].append([passage.index for passage in passages])
            files["starts"].append([passage.start for passage in passages])
            files["ends"].append([passage.end for passage in passages])
            files["numbers"].append([n_passages])
            offset += len(passages)
            files["offsets"].append([offset])


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
