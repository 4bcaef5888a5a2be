"""Rank documents for one query: retrieve candidates, then rerank them by their passages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from longrank.protocols import Candidate
from longrank.ranking.evidence_blocks import candidates_of
from longrank.ranking.from_vectors import evidence_from_vectors
from longrank.ranking.passages import PassageDocumentScorer
from longrank.ranking.pipeline import Pipeline
from longrank.types import Evidence, Query, Run, ScoredDoc


class RankedQuery(NamedTuple):
    """Run, first-stage run and evidence of one query; passages have weights if the aggregator reads them."""

    run: Run
    first_stage: Run
    evidence: Sequence[Evidence]


class Retrieved(NamedTuple):
    """First-stage run of a query, and its documents to rerank: with evidence, or as candidates to score."""

    first_stage: Run
    evidence: list[Evidence] | None
    candidates: list[Candidate]


def rank_one(pipeline: Pipeline, query: Query, k: int) -> RankedQuery:
    """Rank documents for one query: retrieve at least `k` candidates, and rerank them if there is a scorer."""
    first_stage, evidence, candidates = retrieved(pipeline, query, k)
    if evidence is None:
        evidence = _scored(pipeline, candidates)
    if not evidence:
        return RankedQuery(first_stage, first_stage, [])
    return RankedQuery(pipeline.run(evidence, first_stage, "search"), first_stage, evidence)


def retrieved(pipeline: Pipeline, query: Query, k: int) -> Retrieved:
    """Return the first-stage run, at least `k` documents deep, and the evidence, if stored vectors alone give it."""
    first_stage, rows = _first(pipeline, query, k)
    if pipeline.scorer is None or not rows:
        return Retrieved(first_stage, [], [])
    if not pipeline.reads_weights:
        evidence = evidence_from_vectors(pipeline.scorer, pipeline.index, query, rows)
        if evidence is not None:
            return Retrieved(first_stage, evidence, [])
    return Retrieved(first_stage, None, candidates_of(pipeline.index, query, rows, len(rows)))


def candidates_for(pipeline: Pipeline, query: Query, k: int) -> tuple[Run, list[Candidate]]:
    """Return the first-stage run of a query, at least `k` documents deep, and the candidates to rerank."""
    first_stage, rows = _first(pipeline, query, k)
    return first_stage, [] if pipeline.scorer is None else candidates_of(pipeline.index, query, rows, len(rows))


def _first(pipeline: Pipeline, query: Query, k: int) -> tuple[Run, Sequence[ScoredDoc]]:
    depth = pipeline.settings.final.depth
    run = Run(pipeline.settings.first_stage.preset, pipeline.retriever.retrieve(query, max(k, depth)))
    return run, run.get(query.query_id)[:depth]


def _scored(pipeline: Pipeline, candidates: Sequence[Candidate]) -> list[Evidence]:
    scorer = pipeline.scorer
    if isinstance(scorer, PassageDocumentScorer):
        return scorer.evidence(candidates, weights=pipeline.reads_weights)
    return [document for document in scorer.evidence(candidates) if document is not None] if scorer else []
