"""From evidence to a run: reranked documents first, all other documents strictly below in first-stage order.

The commands rerank and aggregate share this code, so the same evidence gives the same run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from longrank.aggregation.interpolate import check_alpha, interpolate
from longrank.errors import InputError, LongRankError
from longrank.fusion import NORMALIZERS, Scores
from longrank.protocols import Aggregator
from longrank.registries import lookup
from longrank.types import NONE_MISSING, Evidence, Missing, Run, ScoredDoc

TAILS = ("keep", "drop")


@dataclass(slots=True)
class _Scored:
    """First-stage and aggregated scores of a query's documents with evidence."""

    first: dict[str, float] = field(default_factory=dict)
    aggregated: dict[str, float] = field(default_factory=dict)


def aggregate_run(
    evidence: Iterable[Evidence],
    aggregator: Aggregator,
    *,
    first_stage: Run | None,
    alpha: float | None,
    normalize: str,
    tail: str,
    tag: str,
    missing: Missing = NONE_MISSING,
) -> Run:
    """Rank documents by their evidence.

    Args:
        evidence: evidence of any number of queries; read once.
        aggregator: see `longrank.aggregation.make_aggregator`.
        first_stage: the reranked run. Documents without evidence follow below in its order, and queries without
            evidence keep their ranking. None: rank documents with evidence only.
        alpha: weight of the first stage in the score, in [0, 1]; None: passages alone.
        normalize: ``none`` or ``minmax``, over the documents with evidence of each query.
        tail: ``keep`` or ``drop`` documents without evidence.
        tag: tag of the new run.
        missing: documents that the index lacked.

    Returns:
        The run. Below the reranked documents, scores fall in steps that float32 can represent.

    Raises:
        InputError: an option out of range, or evidence of a document that the first stage lacks.
        LongRankError: a document has evidence twice, or a score is not finite.
    """
    _check_settings(alpha, normalize, tail)
    scored = _collect(evidence, aggregator)
    queries = [q for q in dict.fromkeys([*(first_stage or ()), *scored]) if q in scored or tail == "keep"]

    def rows() -> Iterator[ScoredDoc]:
        for query_id in queries:
            ranking = first_stage.get(query_id) if first_stage is not None else ()
            top: Scores = {}
            if query_id in scored:
                top = _final_scores(
                    query_id, scored[query_id], None if first_stage is None else ranking, alpha, normalize
                )
            last = missing.last(query_id, reranked=bool(top))
            yield from _stacked(query_id, top, ranking if tail == "keep" else (), last)

    return Run(tag, rows())


def _check_settings(alpha: float | None, normalize: str, tail: str) -> None:
    if alpha is not None:
        check_alpha(alpha)
    lookup(NORMALIZERS, normalize, "normalisation")
    if tail not in TAILS:
        raise InputError("tail must be keep or drop", got=tail)


def _collect(evidence: Iterable[Evidence], aggregator: Aggregator) -> dict[str, _Scored]:
    queries: dict[str, _Scored] = {}
    for document in evidence:
        query_id, doc_id = document.query_id, document.doc_id
        scored = queries.setdefault(query_id, _Scored())
        if doc_id in scored.aggregated:
            raise LongRankError(f"evidence of document {doc_id!r} for query {query_id!r} occurs twice")
        scored.first[doc_id] = document.first_stage
        scored.aggregated[doc_id] = aggregator(document)
    return queries


def _final_scores(
    query_id: str, scored: _Scored, ranking: Sequence[ScoredDoc] | None, alpha: float | None, normalize: str
) -> Scores:
    """Return the scores of the documents with evidence; `ranking` replaces the first-stage scores of the evidence."""
    first = scored.first if ranking is None else first_scores(query_id, scored.aggregated, ranking)
    return scored.aggregated if alpha is None else interpolate(first, scored.aggregated, alpha, normalize)


def first_scores(query_id: str, doc_ids: Collection[str], ranking: Sequence[ScoredDoc]) -> Scores:
    """Return the first-stage scores of documents with evidence.

    Args:
        query_id: query for the message.
        doc_ids: documents with evidence.
        ranking: the first stage's ranking of the query.

    Raises:
        InputError: the first stage lacks a document.
    """
    first = {row.doc_id: row.score for row in ranking if row.doc_id in doc_ids}
    lacking = next((doc_id for doc_id in doc_ids if doc_id not in first), None)
    if lacking is not None:
        raise InputError(
            f"evidence of query {query_id!r} has a document that the first stage does not rank",
            about=("evidence", "first_stage"),
            got=lacking,
            fix="give the run that was reranked",
        )
    return first


def _stacked(query_id: str, top: Scores, ranking: Sequence[ScoredDoc], last: frozenset[str]) -> Iterator[ScoredDoc]:
    """Yield `top`, then the other documents of `ranking`, with `last` at the end; without `top` scores stay."""
    rows = [row for row in ranking if row.doc_id not in top]
    above = top or {row.doc_id: row.score for row in [row for row in rows if row.doc_id not in last] or rows}
    below = [row.doc_id for row in rows if row.doc_id not in above]
    below.sort(key=last.__contains__)
    yield from (ScoredDoc(query_id, doc_id, score) for doc_id, score in above.items())
    yield from _below(query_id, min(above.values()), below)


def _below(query_id: str, lowest: float, doc_ids: Sequence[str]) -> Iterator[ScoredDoc]:
    """Score documents strictly below `lowest`, in order, in steps that float32 can represent.

    A float32 has 24 significant bits. A step of |lowest| / 2^20, or .001 if larger, is more than two units in the last
    place for the first three million documents, and visible with six decimals.
    """
    with np.errstate(over="ignore"):  # the run refuses an infinity by name
        lowest = float(np.float32(lowest))
    step = max(0.001, abs(lowest) * 2**-20)
    for place, doc_id in enumerate(doc_ids, 1):
        yield ScoredDoc(query_id, doc_id, lowest - place * step)
