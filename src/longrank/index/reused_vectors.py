"""Vectors of documents that an index had before it changed."""

from __future__ import annotations

from longrank.errors import InputError, IntegrityError
from longrank.index.arrays import mapped
from longrank.index.content_hashes import SIZE, hash_of
from longrank.index.folder import VECTORS
from longrank.index.reader import Index
from longrank.index.vectors import HASHES, DocumentVectors, PassageVectors, VectorsKey, is_of
from longrank.storage import MANIFEST, read_manifest
from longrank.types import Document, Passage, Segmentation


class ReusedVectors:
    """Stored vectors of an earlier state of an index, found by the content of documents."""

    def __init__(self, index: Index, key: VectorsKey) -> None:
        self._stored: PassageVectors | None = None
        self._numbers: dict[bytes, int] = {}
        for path in sorted((index.path / VECTORS).glob(f"*/{MANIFEST}")):
            try:
                manifest = read_manifest(path.parent)
                if is_of(manifest, key) and HASHES in manifest["files"]:
                    self._stored = PassageVectors(path.parent, index)
                    hashes = mapped(path.parent / HASHES, "u1").tobytes()
                    starts = range(0, len(hashes), SIZE)
                    self._numbers = {hashes[start : start + SIZE]: n for n, start in enumerate(starts)}
            except (InputError, IntegrityError):  # damaged: encoded again
                continue

    def of(self, document: Document) -> DocumentVectors | None:
        """Return the stored vectors of a document; None if there are none of this content."""
        number = self._numbers.get(hash_of(document))
        if self._stored is None or number is None:
            return None
        spans = self._stored.spans(number)
        rows = zip(spans.indices.tolist(), spans.starts.tolist(), spans.ends.tolist(), strict=True)
        passages = tuple(Passage(document.doc_id, n, document.text[a:b], a, b) for n, a, b in rows)
        return DocumentVectors(Segmentation(passages, spans.n_passages), spans.vectors, spans.truncated)
