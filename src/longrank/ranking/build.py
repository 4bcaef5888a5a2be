"""What is computed once for an index and kept with it: passage vectors.

check_vectors   see before a long build whether vectors can be added after it
add_vectors     encode all passages and store them
attach_vectors  let a scorer use them where they fit
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from longrank.errors import IntegrityError
from longrank.index import Index
from longrank.index.vectors import DocumentVectors, PassageVectors, VectorsKey, find_vectors, write_vectors
from longrank.networks.model_files import find_model
from longrank.protocols import PassageScorer, Segmenter
from longrank.scoring.bi_encoder import BiEncoder
from longrank.text.segment import make_segmenter
from longrank.types import Notes

_AT_ONCE = 16  # documents whose passages are encoded side by side


def check_vectors(model: str, preset: str, notes: Notes) -> None:
    """Load the model and make the segmenter that `add_vectors` will need, and let go of both.

    Raises:
        InputError, MissingExtra, IntegrityError: as `add_vectors`.
    """
    make_segmenter(preset, tokenizer=BiEncoder(find_model(model), notes=notes).offset_tokenizer)


def add_vectors(index_path: Path, model: str, preset: str, notes: Notes, progress: Callable[[int], object]) -> Path:
    """Store the vectors of all passages of an index; nothing is encoded if they are there already, undamaged.

    Args:
        index_path: an index.
        model: a bi-encoder: an alias, a folder or a Hugging Face name.
        preset: how documents are split: a key of `longrank.text.segment.PRESETS`.
        notes: counts passages longer than the model can read; says which stored vectors were damaged.
        progress: called with the number of documents just done.

    Returns:
        The folder of the vectors.

    Raises:
        InputError: no such index, model or preset, or the index cannot be written to.
        MissingExtra, IntegrityError: as `make_scorer`.
    """
    index, scorer = Index.open(index_path), BiEncoder(find_model(model), notes=notes)
    segmenter = make_segmenter(preset, tokenizer=scorer.offset_tokenizer)
    key = VectorsKey(scorer.encoder_fingerprint, segmenter.fingerprint)
    found = _stored(index, key, notes)
    if found is not None:
        progress(index.n_docs)
        return found.path
    documents = _encoded(index, segmenter, scorer, notes, progress)
    return write_vectors(index, f"{scorer.model.name}-{preset}", key, scorer.dimension, documents)


def _stored(index: Index, key: VectorsKey, notes: Notes) -> PassageVectors | None:
    try:
        return find_vectors(index, key)[0]
    except IntegrityError as error:
        notes.say(f"stored vectors are damaged and made again: {error}")
        return None


def attach_vectors(
    scorer: PassageScorer, index: Index, segmenter: Segmenter, *, title: bool, selects: bool, notes: Notes
) -> None:
    """Let a bi-encoder use the vectors stored with the index, if they fit; if they do not, say so.

    Args:
        scorer: any scorer; nothing happens unless it is a bi-encoder.
        index: the index whose documents are scored.
        segmenter: what splits them.
        title: whether the scorer reads the title before each passage.
        selects: whether a selector may leave passages of a document out.
        notes: says why stored vectors are not used.

    Raises:
        IntegrityError: the vectors that fit are damaged.
    """
    if not isinstance(scorer, BiEncoder):
        return
    found, reason = find_vectors(index, VectorsKey(scorer.encoder_fingerprint, segmenter.fingerprint, title))
    if found is not None:
        scorer.use_vectors(found, selects=selects)
    elif reason:
        notes.add("passages are encoded, since the stored vectors do not fit", reason)


def _encoded(
    index: Index, segmenter: Segmenter, scorer: BiEncoder, notes: Notes, progress: Callable[[int], object]
) -> Iterator[DocumentVectors]:
    rest = iter(index)
    while some := list(islice(rest, _AT_ONCE)):
        passages = {document.doc_id: segmenter.segment(document).passages for document in some}
        encoded = scorer.encode({doc_id: [one.text for one in own] for doc_id, own in passages.items()})
        for (doc_id, own), (vectors, truncated) in zip(passages.items(), encoded, strict=True):
            notes.add("passages cut at the encoder's length limit", f"document {doc_id}", int(truncated.sum()))
            yield DocumentVectors(np.array([one.index for one in own], dtype=np.int32), vectors, truncated)
        progress(len(some))
