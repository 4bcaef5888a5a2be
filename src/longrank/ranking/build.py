"""Passage vectors of a whole index: computed once, stored in the index folder.

check_vectors   check before a long build that vectors can be added after it
add_vectors     encode and store all passages
attach_vectors  give a scorer the stored vectors that fit it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from longrank.engines import Engine, Local
from longrank.errors import IntegrityError
from longrank.index import Index
from longrank.index.reused_vectors import ReusedVectors
from longrank.index.vector_folders import VectorsKey
from longrank.index.vectors import DocumentVectors, PassageVectors, VectorsType, find_vectors, write_vectors
from longrank.networks.model_files import find_model
from longrank.protocols import PassageScorer, Segmenter
from longrank.ranking.encoding import Encoding
from longrank.ranking.known_passages import KnownPassages
from longrank.scoring.bi_encoder import BiEncoder
from longrank.storage import verify
from longrank.text.segment import make_segmenter
from longrank.types import Document, Notes


def check_vectors(model: str, preset: str, notes: Notes) -> None:
    """Load the model and the segmenter of `add_vectors`, and release both.

    Raises:
        InputError, MissingExtra, IntegrityError: as `add_vectors`.
    """
    make_segmenter(preset, tokenizer=BiEncoder(find_model(model), notes=notes).offset_tokenizer)


def add_vectors(
    index_path: Path,
    model: str,
    preset: str,
    notes: Notes,
    progress: Callable[[int], object],
    *,
    engine: Engine | None = None,
    dtype: VectorsType | None = None,
) -> Path:
    """Store the vectors of all passages of an index. Undamaged vectors that are there already are kept.

    Args:
        index_path: an index.
        model: a bi-encoder: an alias, a folder or a Hugging Face name.
        preset: segmentation preset, a key of `longrank.text.segment.PRESETS`.
        notes: counts passages longer than the model reads; names damaged vectors, and vectors of another model whose
            name these would have.
        progress: called with the number of documents just done.
        engine: encodes the documents. None: this process.
        dtype: ``int8``: also store the vectors as 8-bit numbers, which a search compares first; ``float32``: do not;
            None: as vectors of the same model and passages are stored now.

    Returns:
        The folder of the vectors.

    Raises:
        InputError: no such index, model or preset, or the index cannot be written to.
        MissingExtra, IntegrityError: as `make_scorer`.
    """
    engine = engine or Local()
    index, encoder = Index.open(index_path), Encoder(model, preset, engine.threads)
    scorer, segmenter, loading = encoder.opened
    notes.merge(loading)
    key = VectorsKey(scorer.encoder_fingerprint, segmenter.fingerprint)
    stored = _stored(index, key, dtype, notes)
    if stored is not None:
        progress(index.n_docs)
        return stored.path
    reused = ReusedVectors(index, key, notes)
    documents = _encoded(index, encoder, engine, notes, progress, reused=reused)
    name, known = f"{scorer.model.name}-{preset}", "" if Path(model).expanduser().is_dir() else model
    dtype = dtype or reused.dtype
    return write_vectors(index, name, key, scorer.dimension, documents, model=known, dtype=dtype, notes=notes)


def _stored(index: Index, key: VectorsKey, dtype: VectorsType | None, notes: Notes) -> PassageVectors | None:
    """Return the stored vectors of a type whose files are as they were written; None if there are none."""
    try:
        found, _ = find_vectors(index, key)
        if found is None or dtype not in (None, found.dtype):
            return None
        verify(found.path)
        return found
    except IntegrityError as error:
        notes.say(f"stored vectors are damaged and computed again: {error}")
        return None


def attach_vectors(
    scorer: PassageScorer, index: Index, segmenter: KnownPassages, *, title: bool, selects: bool, notes: Notes
) -> None:
    """Give a bi-encoder the vectors stored with the index, and the segmenter their passages.

    If the vectors do not fit, a note says so.

    Args:
        scorer: any scorer; only bi-encoders use vectors.
        index: the index whose documents are scored.
        segmenter: splits the documents.
        title: true if the scorer reads the title before each passage.
        selects: true if a selector may leave out passages of a document.
        notes: says why stored vectors are not used.

    Raises:
        IntegrityError: the vectors that fit are damaged.
    """
    if not isinstance(scorer, BiEncoder):
        return
    vectors, reason = find_vectors(index, VectorsKey(scorer.encoder_fingerprint, segmenter.fingerprint, title))
    if vectors is not None:
        scorer.use_vectors(vectors, selects=selects)
        segmenter.use(vectors)
    elif reason:
        notes.add("passages are encoded, since the stored vectors do not fit", reason)


class Encoder(Encoding[BiEncoder, DocumentVectors]):
    """Splits documents and encodes them by a bi-encoder."""

    def load(self, notes: Notes) -> BiEncoder:
        """Return the scorer; raises as `BiEncoder`."""
        return BiEncoder(find_model(self.model), notes=notes)

    def vectors(
        self, encoder: BiEncoder, segmenter: Segmenter, batch: Sequence[Document], notes: Notes
    ) -> list[DocumentVectors]:
        """Return the vectors of some documents; passages that were cut are counted."""
        split = {document.doc_id: segmenter.segment(document) for document in batch}
        encoded = encoder.encode({doc_id: [passage.text for passage in split[doc_id].passages] for doc_id in split})
        documents = []
        for (doc_id, segmentation), (vectors, truncated) in zip(split.items(), encoded, strict=True):
            notes.add("passages cut at the encoder's length limit", f"document {doc_id}", int(truncated.sum()))
            documents.append(DocumentVectors(segmentation, vectors, truncated))
        return documents


def _encoded(
    index: Index,
    encoder: Encoder,
    engine: Engine,
    notes: Notes,
    progress: Callable[[int], object],
    *,
    reused: ReusedVectors,
) -> Iterator[DocumentVectors]:
    """Yield the vectors of all documents; those of documents that had vectors before a change are not computed."""
    new = (document for document in index.documents(metadata=False) if not reused.has(document))
    computed = encoder.by(engine, new, notes)
    for document in index.documents(metadata=False):
        yield reused.of(document) or next(computed)
        progress(1)
