"""Evidence of a run's queries, block by block: a block is a pure function of its queries and the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

from longrank.formats.evidence import EvidenceWriter
from longrank.index import Index
from longrank.protocols import Candidate, DocumentScorer
from longrank.types import Evidence, Query, Run, ScoredDoc


class Ranked(NamedTuple):
    """A query and the documents to score for it, in first-stage order."""

    query: Query
    rows: Sequence[ScoredDoc]


Block: TypeAlias = list[Ranked]
ScoreBlocks: TypeAlias = Callable[[Iterable[Block]], Iterator[list[list[Evidence]]]]
"""Scores blocks, in order: for each block the evidence of each of its queries."""


def candidates_of(
    index: Index, query: Query, ranking: Sequence[ScoredDoc], depth: int, absent: Iterable[str] = ()
) -> list[Candidate]:
    """Return the first `depth` documents of a ranking with their texts, without the documents that the index lacks."""
    top = [row for row in ranking[:depth] if row.doc_id not in absent]
    return [Candidate(query, index.document(row.doc_id), row.score) for row in top]


def evidence_of(index: Index, scorer: DocumentScorer, block: Block) -> list[list[Evidence]]:
    """Score a block; return the evidence of each query, without documents that early stopping left out."""
    per_query = [candidates_of(index, query, rows, len(rows)) for query, rows in block]
    evidence = iter(scorer.evidence([candidate for candidates in per_query for candidate in candidates]))
    return [[one for one in islice(evidence, len(candidates)) if one is not None] for candidates in per_query]


def collect_evidence(
    queries: Sequence[Query],
    first_stage: Run,
    path: Path,
    score: ScoreBlocks,
    *,
    depth: int,
    block_queries: int,
    header: dict[str, object],
    absent: set[str],
    progress: Callable[[int], object],
) -> int:
    """Write the evidence of all queries, block by block. Return the number of queries that were done before.

    Blocks are a pure function of the queries and the settings, and a block is redone whole, so an
    interrupted and resumed file has the bytes of an undisturbed one.
    """
    with EvidenceWriter(path, header) as writer:
        done = writer.n_queries_done
        progress(done)
        blocks = [
            [_ranked(query, first_stage, depth, absent) for query in queries[start : start + block_queries]]
            for start in range(done, len(queries), block_queries)
        ]
        for block, scored in zip(blocks, score(blocks), strict=True):
            for (query, _), evidence in zip(block, scored, strict=True):
                writer.write_query(query.query_id, evidence)
            writer.commit()
            progress(len(block))
    return done


def _ranked(query: Query, first_stage: Run, depth: int, absent: set[str]) -> Ranked:
    return Ranked(query, [row for row in first_stage[query.query_id][:depth] if row.doc_id not in absent])
