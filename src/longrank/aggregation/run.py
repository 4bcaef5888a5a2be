"""From evidence to a run: reranked documents first, the others strictly below in first-stage order.

The rerank and the aggregate commands both end here, so the same evidence gives the same run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from longrank.aggregation.interpolate import check_alpha, interpolate
from longrank.config import lookup
from longrank.errors import InputError, LongRankError
from longrank.fusion import NORMALIZERS, Scores
from longrank.protocols import Aggregator
from longrank.types import Evidence, Run, ScoredDoc

TAILS = ("keep", "drop")


@dataclass(slots=True)
class _Scored:
    """The documents of one query that have evidence: their first-stage and aggregated scores."""

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
    last: frozenset[str] = frozenset(),
) -> Run:
    """Rank documents by their evidence.

    Args:
        evidence: of any number of queries; read once, only its scores are kept.
        aggregator: see `longrank.aggregation.make_aggregator`.
        first_stage: the run that was reranked. Its other documents follow below in its order, and
            queries without evidence keep their ranking. None: there is evidence only.
        alpha: weight of the first stage in the score, in [0, 1]; None: passages alone.
        normalize: ``none`` or ``minmax``, over the documents with evidence of each query.
        tail: ``keep`` as said, or ``drop``: only documents with evidence.
        tag: of the new run.
        last: documents that come after all others (those the index lacks).

    Returns:
        The run. Below the reranked documents scores fall in steps that float32 can tell apart.

    Raises:
        InputError: alpha or a word out of range, or evidence of a document that the first stage
            does not hold.
        LongRankError: evidence of one document occurs twice, or a score that is not finite.
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
            yield from _stacked(query_id, top, ranking if tail == "keep" else (), last)

    return Run(tag, rows())


def _check_settings(alpha: float | None, normalize: str, tail: str) -> None:
    if alpha is not None:
        check_alpha(alpha)
    lookup(NORMALIZERS, normalize, "normalisation")
    if tail not in TAILS:
        raise InputError("tail is keep or drop", got=tail)


def _collect(evidence: Iterable[Evidence], aggregator: Aggregator) -> dict[str, _Scored]:
    queries: dict[str, _Scored] = {}
    for one in evidence:
        scored = queries.setdefault(one.query_id, _Scored())
        if one.doc_id in scored.aggregated:
            raise LongRankError(f"evidence of document {one.doc_id!r} for query {one.query_id!r} occurs twice")
        scored.first[one.doc_id] = one.first_stage
        scored.aggregated[one.doc_id] = aggregator(one)
    return queries


def _final_scores(
    query_id: str, scored: _Scored, ranking: Sequence[ScoredDoc] | None, alpha: float | None, normalize: str
) -> Scores:
    """Return the scores of the documents with evidence; first-stage scores are those of `ranking`, if there is one."""
    first = scored.first if ranking is None else first_scores(query_id, scored.aggregated, ranking)
    return scored.aggregated if alpha is None else interpolate(first, scored.aggregated, alpha, normalize)


def first_scores(query_id: str, doc_ids: Collection[str], ranking: Sequence[ScoredDoc]) -> Scores:
    """Return the first-stage scores of the documents that have evidence.

    Args:
        query_id: the query, for the message.
        doc_ids: the documents.
        ranking: of the first stage.

    Raises:
        InputError: the first stage lacks one of them.
    """
    first = {row.doc_id: row.score for row in ranking if row.doc_id in doc_ids}
    lacking = next((doc_id for doc_id in doc_ids if doc_id not in first), None)
    if lacking is not None:
        raise InputError(
            f"evidence of query {query_id!r} is about a document that the first stage does not rank",
            got=lacking,
            fix="give the run that was reranked",
        )
    return first


def _stacked(query_id: str, top: Scores, ranking: Sequence[ScoredDoc], last: frozenset[str]) -> Iterator[ScoredDoc]:
    """Yield `top` and below it the rest of `ranking`, those of `last` at the end; without `top` scores stay."""
    rest = [row for row in ranking if row.doc_id not in top]
    above = top or _scores([row for row in rest if row.doc_id not in last] or rest)
    below = [row.doc_id for row in rest if row.doc_id not in above]
    below.sort(key=last.__contains__)
    yield from (ScoredDoc(query_id, doc_id, score) for doc_id, score in above.items())
    yield from _below(query_id, min(above.values()), below)


def _scores(rows: Iterable[ScoredDoc]) -> Scores:
    return {row.doc_id: row.score for row in rows}


def _below(query_id: str, lowest: float, doc_ids: Sequence[str]) -> Iterator[ScoredDoc]:
    """Score documents strictly below `lowest`, in order, in steps that float32 can tell apart.

    A float32 has 24 significant bits. A step of |lowest| / 2^20, or .001 if that is more, is more than
    two units in the last place for the first three million documents, and seen with six decimals.
    """
    with np.errstate(over="ignore"):  # the run refuses an infinity by name
        lowest = float(np.float32(lowest))
    step = max(0.001, abs(lowest) * 2**-20)
    for place, doc_id in enumerate(doc_ids, 1):
        yield ScoredDoc(query_id, doc_id, lowest - place * step)
