"""Evidence of a run's queries, block by block: a block is a pure function of its queries and the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from longrank.errors import InputError
from longrank.formats.evidence import EvidenceWriter
from longrank.index import Index
from longrank.index.languages import digest_of_queries
from longrank.protocols import Candidate, DocumentScorer
from longrank.types import Evidence, Notes, Query, Run, ScoredDoc


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
    return [Candidate(query, index.document(row.doc_id, metadata=False), row.score) for row in top]


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


def check_queries(
    header: Mapping[str, Any], index: Index, *known: Iterable[Query], refused: bool = False, notes: Notes
) -> None:
    """Note evidence of other queries, as when the text of a query has changed since; or refuse it.

    Args:
        header: of the evidence; one without queries tells nothing.
        index: an index of several languages adds the queries' languages to their digest.
        known: the queries that the evidence may be of, in its order.
        refused: raise an error instead of the note.
        notes: gets the note.
    """
    if "queries" not in header or header["queries"] in (digest_of_queries(some, index.options) for some in known):
        return
    if refused:
        fix = "give the queries, and the `field`, that the run was reranked with"
        raise InputError("the evidence is of other queries", about=("evidence", "queries"), fix=fix)
    notes.say("the evidence is of other queries, or of more than these: they are matched by their ids")
