"""Evidence from stored vectors alone: no text is read, and no passage is made that is not shown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from longrank.index import Index
from longrank.index.vectors import PassageVectors
from longrank.protocols import DocumentScorer
from longrank.ranking.passages import PassageDocumentScorer
from longrank.scoring.bi_encoder import BiEncoder
from longrank.scoring.vectors import cosines
from longrank.types import Evidence, Float32s, Query, ScoredDoc


def evidence_from_vectors(
    scorer: DocumentScorer, index: Index, query: Query, rows: Sequence[ScoredDoc]
) -> list[Evidence] | None:
    """Return the evidence of documents of an index, in order; None if the scorer has to read their text.

    The bytes are those of the scorer, except weights, which are ones.

    Args:
        scorer: the pipeline's scorer; a bi-encoder alone whose vectors are stored can do without text.
        index: the index of the documents.
        query: the query.
        rows: the first stage of the documents.

    Raises:
        IntegrityError: a stored vector is not finite.
        LongRankError: the vector of the query is not finite.
    """
    stored = _stored(scorer)
    if stored is None or not rows:
        return None
    assert isinstance(scorer, PassageDocumentScorer) and isinstance(scorer.scorer, BiEncoder)
    vector = scorer.scorer.query_vector(query)
    return [_evidence(stored, index.number(row.doc_id), row, vector) for row in rows]


def _stored(scorer: DocumentScorer) -> PassageVectors | None:
    """Return the vectors that a scorer reads; None if it reads text, too."""
    if not isinstance(scorer, PassageDocumentScorer) or scorer.mix is not None or scorer.selector.fingerprint != "all":
        return None
    stored = scorer.scorer.stored if isinstance(scorer.scorer, BiEncoder) else None
    return stored if stored is not None and stored.has_spans else None


def _evidence(stored: PassageVectors, number: int, row: ScoredDoc, query: Float32s) -> Evidence:
    passages = stored.spans(number)
    scores = cosines(passages.vectors, query)
    if not np.isfinite(scores).all():
        stored.check_finite(stored.matrix @ query)
    return Evidence(
        query_id=row.query_id,
        doc_id=row.doc_id,
        first_stage=row.score,
        passage_index=passages.indices,
        passage_start=passages.starts,
        passage_end=passages.ends,
        passage_score=scores,
        passage_weight=np.ones(len(scores), np.float32),
        n_passages=passages.n_passages,
        n_truncated=int(passages.truncated.sum()),
    )
