"""Evidence and runs written in one line, for tests of what is made from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from longrank.formats.evidence import EvidenceWriter, evidence_header
from longrank.types import Evidence, Run, ScoredDoc


def evidence(  # one document whose passages have these scores
    doc_id: str,
    scores: Sequence[float],
    *,
    query_id: str = "q",
    first_stage: float = 0.0,
    weights: Sequence[float] | None = None,
    document_score: float | None = None,
    parts: Mapping[str, Sequence[float]] | None = None,
) -> Evidence:
    index = np.arange(len(scores), dtype=np.int32)
    return Evidence(
        query_id=query_id,
        doc_id=doc_id,
        first_stage=first_stage,
        passage_index=index,
        passage_start=index * 10,
        passage_end=index * 10 + 9,
        passage_score=np.array(scores, dtype=np.float32),
        passage_weight=np.ones(len(scores), np.float32) if weights is None else np.array(weights, np.float32),
        n_passages=len(scores),
        n_truncated=0,
        document_score=document_score,
        passage_parts=None if parts is None else {name: np.array(part, np.float32) for name, part in parts.items()},
    )


def run(rankings: dict[str, dict[str, float]], tag: str = "run") -> Run:
    """A run from query_id -> doc_id -> score."""
    return Run(tag, (ScoredDoc(q, d, s) for q, scores in rankings.items() for d, s in scores.items()))


def scores(of: Run, query_id: str = "q") -> dict[str, float]:
    """doc_id -> score of one query, best first."""
    return {row.doc_id: row.score for row in of[query_id]}


def write_evidence(path: Path, per_query: list[list[Evidence]], scorer: str = "s", **options: object) -> None:
    """Write an evidence file with the documents of each query."""
    ids = {"collection": "c", "queries": "q", "candidates": "r"}
    header = evidence_header(unit="logit", scorer=scorer, n_queries=len(per_query), **ids, options=options)
    with EvidenceWriter(path, header) as writer:
        for rows in per_query:
            writer.write_query(rows[0].query_id, rows)
        writer.commit()
