"""Compare a first stage with the first-stage scores in the evidence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from longrank.types import Evidence, Notes, Run

_RELATIVE, _ABSOLUTE = 2e-7, 1e-6  # two units of a float32; run files have six decimals


def comparing_first_stage(evidence: Iterable[Evidence], first_stage: Run, notes: Notes) -> Iterator[Evidence]:
    """Pass evidence on, and count documents whose score in `first_stage` differs from the reranked run's.

    Another run of the same documents may be a choice (interpolate with another first stage) or a mistake (the file of
    another experiment). Documents that `first_stage` lacks, and documents with an unknown first score (NaN), are
    not counted.
    """
    query_id, scores = None, dict[str, float]()
    for document in evidence:
        if document.query_id != query_id:
            query_id, scores = document.query_id, {row.doc_id: row.score for row in first_stage.get(document.query_id)}
        score, reranked = scores.get(document.doc_id, math.nan), document.first_stage
        if abs(score - reranked) > max(_ABSOLUTE, _RELATIVE * abs(reranked)):
            where = f"query {query_id}, {document.doc_id}: {reranked:.6g} then, {score:.6g} here"
            notes.add("documents with another score in this first stage than in the reranked run", where)
        yield document
