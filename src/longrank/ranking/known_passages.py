"""Passages of documents that were split before: stored with vectors, or kept in memory.

To count the wordpieces of a document takes much longer than to read its stored vectors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.index.vectors import PassageVectors
from longrank.protocols import Segmenter
from longrank.storage.kept import Kept, key_of
from longrank.types import Document, Passage, Segmentation

_KEPT_BYTES = 32 << 20  # places of 60,000 documents, or of two million passages of long ones


class KnownPassages:
    """A segmenter that splits a document once; its passages are those of the segmenter that it wraps."""

    def __init__(self, segmenter: Segmenter) -> None:
        self._segmenter, self._kept = segmenter, Kept[_Places](_KEPT_BYTES)
        self._stored: PassageVectors | None = None

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the segmenter."""
        return self._segmenter.fingerprint

    def use(self, stored: PassageVectors) -> None:
        """Take passages of the index from stored vectors of the same fingerprint."""
        self._stored = stored

    def segment(self, document: Document) -> Segmentation:
        """Return the passages of a document."""
        stored = None if self._stored is None else self._stored.segmentation(document)
        if stored is not None:
            return stored
        key = key_of([document.doc_id, document.title, document.text, repr((document.passages, document.headings))])
        if (places := self._kept.get(key)) is not None:
            return places.of(document)
        segmentation = self._segmenter.segment(document)
        places = _Places.from_(segmentation)
        self._kept.add(key, places, places.rows.nbytes)
        return segmentation


class _Places(NamedTuple):
    """Index, start and end of each passage, int32[P, 3], and the other fields of a segmentation."""

    rows: NDArray[np.int32]
    n_passages: int
    title: str | None

    @classmethod
    def from_(cls, segmentation: Segmentation) -> _Places:
        rows = [(passage.index, passage.start, passage.end) for passage in segmentation.passages]
        return cls(np.array(rows, np.int32), segmentation.n_passages, segmentation.title)

    def of(self, document: Document) -> Segmentation:
        passages = (
            Passage(document.doc_id, index, document.text[start:end], start, end)
            for index, start, end in self.rows.tolist()
        )
        return Segmentation(tuple(passages), self.n_passages, self.title)
