"""Learned sparse vectors of a whole index: computed once, stored in the index folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from longrank.engines import Engine, Local
from longrank.errors import IntegrityError
from longrank.index import Index
from longrank.index.content_hashes import hash_of
from longrank.index.sparse import SparseDocument, SparseVectors, write_sparse
from longrank.index.vector_folders import SPARSE_FOLDERS, VectorsKey
from longrank.networks.learned_sparse import SparseModel
from longrank.networks.model_files import find_model
from longrank.protocols import Segmenter
from longrank.ranking.encoding import Encoding
from longrank.storage import read_manifest, verify
from longrank.text.segment import make_segmenter
from longrank.types import Document, Notes


def check_sparse(model: str, preset: str, notes: Notes) -> None:
    """Load the model and the segmenter of `add_sparse`, and release both.

    Raises:
        InputError, MissingExtra, IntegrityError: as `add_sparse`.
    """
    make_segmenter(preset, tokenizer=SparseModel(find_model(model), notes).offset_tokenizer)


def add_sparse(
    index_path: Path,
    model: str,
    preset: str,
    notes: Notes,
    progress: Callable[[int], object],
    *,
    engine: Engine | None = None,
) -> Path:
    """Store the sparse vectors of all passages of an index. Undamaged vectors that are there already are kept.

    Args:
        index_path: an index.
        model: a model of ``SparseEncoder``: a folder or a Hugging Face name.
        preset: segmentation preset, a key of `longrank.text.segment.PRESETS`.
        notes: as of `longrank.ranking.build.add_vectors`.
        progress: called with the number of documents just done.
        engine: encodes the documents. None: this process.

    Returns:
        The folder of the vectors.

    Raises:
        InputError: no such index, model or preset, or the index cannot be written to.
        MissingExtra, IntegrityError: as `SparseModel`.
    """
    engine = engine or Local()
    index, encoding = Index.open(index_path), SparseEncoding(model, preset, engine.threads)
    encoder, segmenter, loading = encoding.opened
    notes.merge(loading)
    key = VectorsKey(encoder.fingerprint, segmenter.fingerprint)
    earlier = None
    for folder in SPARSE_FOLDERS.of(index).values():
        try:
            manifest = read_manifest(folder)
            if SPARSE_FOLDERS.is_of(manifest, key):
                opened = SparseVectors(folder)
                verify(folder)  # copies get checksums of their own
                if manifest.get("index") == index.digest:
                    progress(index.n_docs)
                    return folder
                earlier = opened
        except IntegrityError as error:
            notes.say(f"stored vectors are damaged and computed again: {error}")
    name, known = f"{encoder.model.name}-{preset}", "" if Path(model).expanduser().is_dir() else model
    documents = _encoded(index, encoding, engine, earlier, notes=notes, progress=progress)
    return write_sparse(index, name, key, documents, model=known, notes=notes)


class SparseEncoding(Encoding[SparseModel, SparseDocument]):
    """Splits documents and encodes them by a learned sparse model."""

    def load(self, notes: Notes) -> SparseModel:
        """Return the model; raises as `SparseModel`."""
        return SparseModel(find_model(self.model), notes)

    def vectors(
        self, encoder: SparseModel, segmenter: Segmenter, batch: Sequence[Document], notes: Notes
    ) -> list[SparseDocument]:
        """Return the vectors of some documents; passages that were cut are counted."""
        documents = []
        for document in batch:
            segmentation = segmenter.segment(document)
            rows = encoder.encode([passage.text for passage in segmentation.passages])
            notes.add(
                "passages cut at the encoder's length limit", f"document {document.doc_id}", int(rows.truncated.sum())
            )
            documents.append(SparseDocument(segmentation, *rows))
        return documents


def _encoded(
    index: Index,
    encoding: SparseEncoding,
    engine: Engine,
    earlier: SparseVectors | None,
    *,
    notes: Notes,
    progress: Callable[[int], object],
) -> Iterator[SparseDocument]:
    """Yield the vectors of all documents; those of documents that had vectors before a change are not computed."""
    numbers = {} if earlier is None else earlier.documents()

    def number_of(document: Document) -> int | None:
        return numbers.get(hash_of(document)) if numbers else None

    new = (document for document in index.documents(metadata=False) if number_of(document) is None)
    computed = encoding.by(engine, new, notes)
    for document in index.documents(metadata=False):
        number = number_of(document)
        yield next(computed) if earlier is None or number is None else earlier.document(number, document)
        progress(1)
