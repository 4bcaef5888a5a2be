"""Learned sparse vectors of a whole index: computed once, stored in the index folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from longrank.errors import IntegrityError
from longrank.index import Index
from longrank.index.content_hashes import hash_of
from longrank.index.sparse import SparseDocument, SparseVectors, write_sparse
from longrank.index.vector_folders import SPARSE_FOLDERS, VectorsKey
from longrank.networks.learned_sparse import SparseModel
from longrank.networks.model_files import find_model
from longrank.protocols import Segmenter
from longrank.storage import read_manifest, verify
from longrank.text.segment import make_segmenter
from longrank.types import Notes


def check_sparse(model: str, preset: str, notes: Notes) -> None:
    """Load the model and the segmenter of `add_sparse`, and release both.

    Raises:
        InputError, MissingExtra, IntegrityError: as `add_sparse`.
    """
    make_segmenter(preset, tokenizer=SparseModel(find_model(model), notes).offset_tokenizer)


def add_sparse(index_path: Path, model: str, preset: str, notes: Notes, progress: Callable[[int], object]) -> Path:
    """Store the sparse vectors of all passages of an index. Undamaged vectors that are there already are kept.

    Args:
        index_path: an index.
        model: a model of ``SparseEncoder``: a folder or a Hugging Face name.
        preset: segmentation preset, a key of `longrank.text.segment.PRESETS`.
        notes: counts passages longer than the model reads; names damaged vectors.
        progress: called with the number of documents just done.

    Returns:
        The folder of the vectors.

    Raises:
        InputError: no such index, model or preset, or the index cannot be written to.
        MissingExtra, IntegrityError: as `SparseModel`.
    """
    index, encoder = Index.open(index_path), SparseModel(find_model(model), notes)
    segmenter = make_segmenter(preset, tokenizer=encoder.offset_tokenizer)
    key = VectorsKey(encoder.fingerprint, segmenter.fingerprint)
    earlier = None
    for folder in SPARSE_FOLDERS.of(index).values():
        try:
            manifest = read_manifest(folder)
            if SPARSE_FOLDERS.is_of(manifest, key):
                opened = SparseVectors(folder)
                if manifest.get("index") == index.digest:
                    progress(index.n_docs)
                    return folder
                verify(folder)  # copies get checksums of their own
                earlier = opened
        except IntegrityError as error:
            notes.say(f"stored vectors are damaged and computed again: {error}")
    name, known = f"{encoder.model.name}-{preset}", "" if Path(model).expanduser().is_dir() else model
    return write_sparse(
        index, name, key, _encoded(index, segmenter, encoder, earlier, notes=notes, progress=progress), model=known
    )


def _encoded(
    index: Index,
    segmenter: Segmenter,
    encoder: SparseModel,
    earlier: SparseVectors | None,
    *,
    notes: Notes,
    progress: Callable[[int], object],
) -> Iterator[SparseDocument]:
    """Yield the vectors of all documents; those of documents that had vectors before a change are not computed."""
    numbers = {} if earlier is None else earlier.documents()
    for document in index:
        number = numbers.get(hash_of(document))
        if earlier is not None and number is not None:
            yield earlier.document(number, document)
        else:
            segmentation = segmenter.segment(document)
            rows = encoder.encode([passage.text for passage in segmentation.passages])
            notes.add(
                "passages cut at the encoder's length limit", f"document {document.doc_id}", int(rows.truncated.sum())
            )
            yield SparseDocument(segmentation, *rows)
        progress(1)
