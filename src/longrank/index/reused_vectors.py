"""Vectors of documents that an index had before it changed."""

from __future__ import annotations

import numpy as np

from longrank.errors import InputError, IntegrityError
from longrank.index.content_hashes import hash_of
from longrank.index.reader import Index
from longrank.index.vector_folders import DENSE_FOLDERS, HASHES, VectorsKey, documents_by_hash
from longrank.index.vectors import DocumentVectors, PassageVectors, VectorsType, vectors_type
from longrank.storage import read_manifest, verify
from longrank.types import Document, Notes, Passage, Segmentation


class ReusedVectors:
    """Stored vectors of an earlier state of an index, found by the content of documents; notes name damaged vectors.

    Attributes:
        dtype: type of the numbers that a search of them compares first; float32 if there are none.
    """

    def __init__(self, index: Index, key: VectorsKey, notes: Notes | None = None) -> None:
        self.dtype: VectorsType = "float32"
        self._title = key.title
        self._stored: PassageVectors | None = None
        self._numbers: dict[bytes, int] = {}
        for folder in DENSE_FOLDERS.of(index).values():
            is_of = False
            try:
                manifest = read_manifest(folder)
                is_of = DENSE_FOLDERS.is_of(manifest, key)
                if is_of and HASHES in manifest["files"]:
                    self.dtype = vectors_type(manifest["files"])
                    verify(folder)  # copies get checksums of their own
                    numbers = documents_by_hash(folder)
                    self._stored, self._numbers = PassageVectors(folder, index, len(numbers)), numbers
            except (InputError, IntegrityError) as error:
                if is_of and notes is not None:
                    notes.say(f"stored vectors are damaged and computed again: {error}")

    def has(self, document: Document) -> bool:
        """Tell whether there are vectors of a document's content."""
        return self._number(document) is not None

    def _number(self, document: Document) -> int | None:
        return self._numbers.get(hash_of(document)) if self._numbers else None

    def of(self, document: Document) -> DocumentVectors | None:
        """Return the stored vectors of a document; None if there are none of this content."""
        number = self._number(document)
        if self._stored is None or number is None:
            return None
        spans = self._stored.spans(number)
        rows = zip(spans.indices.tolist(), spans.starts.tolist(), spans.ends.tolist(), strict=True)
        passages = tuple(Passage(document.doc_id, n, document.text[a:b], a, b) for n, a, b in rows)
        # Earlier versions stored other vectors of empty texts.
        is_empty = not document.text.strip() and not (self._title and document.title.strip())
        vectors = np.zeros_like(spans.vectors) if is_empty else spans.vectors
        return DocumentVectors(Segmentation(passages, spans.n_passages), vectors, spans.truncated)
