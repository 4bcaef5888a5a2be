"""Passage vectors stored with an index, so that a search does not encode passages.

    INDEX/vectors/<model>-<passages>/
        vectors     float32[n, H]   unit vectors (or zeros) of all passages, document after document
        truncated   uint8[n]        1: the model could not read the passage to its end
        passages    int32[n]        index of each passage in its document
        starts      int32[n]        first code point of each passage in the document's text (*)
        ends        int32[n]        one past the last (*)
        numbers     int32[D]        passages of each document before a cap (*)
        offsets     uint64[D + 1]   first passage of each document; documents by number
        manifest.json               the `VectorsKey`, and a checksum of each file; written last

Files marked (*) tell the passages without splitting the document again; vectors written by version 0.1 lack them.
Vectors are written to a hidden folder, which is renamed when whole. They are used only if encoder, passages, title
and index are the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.errors import IntegrityError
from longrank.index.arrays import ArrayWriter, mapped
from longrank.index.folder import VECTORS, building, discard
from longrank.index.reader import Index
from longrank.storage import MANIFEST, open_manifest, read_manifest, sync_folder, write_manifest
from longrank.types import Document, Passage, Segmentation

FORMAT, VERSION = "longrank passage vectors", 1


class VectorsKey(NamedTuple):
    """The encoder and the passages that passage vectors depend on, besides the index.

    Attributes:
        encoder: fingerprint of model and options.
        segmenter: fingerprint of the segmenter.
        title: True: the encoder reads the title before each passage.
    """

    encoder: str
    segmenter: str
    title: bool = False


class DocumentVectors(NamedTuple):
    """Vectors of a document: its passages, vectors float32[P, H], and bool[P]: truncated."""

    segmentation: Segmentation
    vectors: NDArray[np.float32]
    truncated: NDArray[np.bool_]


class PassageVectors:
    """Stored vectors, memory-mapped; opened by `find_vectors`."""

    def __init__(self, folder: Path, index: Index) -> None:
        manifest = open_manifest(folder)
        self.path, self._index, self.dimension = folder, index, int(manifest["dimension"])
        self._vectors = mapped(folder / "vectors", "<f4").reshape(-1, self.dimension)
        self._truncated = mapped(folder / "truncated", "u1")
        self._passages = mapped(folder / "passages", "<i4")
        self._offsets = mapped(folder / "offsets", "<u8")
        self._spans: tuple[NDArray[np.int32], ...] | None = None
        if "starts" in manifest["files"]:
            self._spans = tuple(mapped(folder / name, "<i4") for name in ("starts", "ends", "numbers"))
        if not len(self._vectors) == len(self._truncated) == len(self._passages) == self._offsets[-1]:
            raise IntegrityError(f"{folder}: files of different lengths; remove the folder and store them again")

    def __len__(self) -> int:
        return len(self._vectors)

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
    reason = ""
    for path in sorted((index.path / VECTORS).glob(f"*/{MANIFEST}")):
        manifest = read_manifest(path.parent)
        identity = {"format": FORMAT, "version": VERSION, "index": index.digest, **key._asdict()}
        differing = [name for name, value in identity.items() if manifest.get(name) != value]
        if not differing:
            return PassageVectors(path.parent, index), ""
        reason = f"{path.parent.name} has another {' and '.join(differing)}"
    return None, reason


def write_vectors(
    index: Index, name: str, key: VectorsKey, dimension: int, documents: Iterable[DocumentVectors]
) -> Path:
    """Store the vectors of all documents of an index; vectors of the same name are replaced.

    Args:
        index: the index.
        name: folder name, made of the model and the passages.
        key: encoder and passages.
        dimension: H.
        documents: one entry per document, in the order of the index.

    Returns:
        The folder.

    Raises:
        InputError: the index cannot be written to, or another process is writing to it.
    """
    meta = {"format": FORMAT, "version": VERSION, "index": index.digest, "dimension": dimension, **key._asdict()}
    target = index.path / VECTORS / re.sub(r"[^\w.-]+", "-", name)
    with building(index.path) as work:
        _write_arrays(work, documents)
        write_manifest(work, meta)
        target.parent.mkdir(exist_ok=True)
        discard(target, index.path)
        work.rename(target)
        sync_folder(target.parent)
    return target


def _write_arrays(folder: Path, documents: Iterable[DocumentVectors]) -> None:
    offset = 0
    types = {"vectors": "<f4", "truncated": "u1", "passages": "<i4", "starts": "<i4", "ends": "<i4", "numbers": "<i4"}
    with ExitStack() as stack:
        files = {name: stack.enter_context(ArrayWriter(folder / name, kind)) for name, kind in types.items()}
        offsets = stack.enter_context(ArrayWriter(folder / "offsets", "<u8"))
        offsets.append([0])
        for (passages, n_passages, _), vectors, truncated in documents:
            files["vectors"].append(vectors)
            files["truncated"].append(truncated)
            files["passages"].append([passage.index for passage in passages])
            files["starts"].append([passage.start for passage in passages])
            files["ends"].append([passage.end for passage in passages])
            files["numbers"].append([n_passages])
            offset += len(passages)
            offsets.append([offset])
