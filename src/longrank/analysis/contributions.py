"""Compare the contributions that a document network reports with the score that each passage is worth.

A passage's worth by leave-one-out is the loss of the document's score when the network reads the document without it;
of a document with a single passage, the whole score. It needs no gradient: the network scores the rest again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from longrank.analysis.estimates import SEED, Estimate, estimates
from longrank.errors import InputError
from longrank.protocols import Candidate, ScoringTask
from longrank.ranking.passages import PassageDocumentScorer
from longrank.types import Evidence


@dataclass(frozen=True, slots=True)
class ContributionAgreement:
    """Agreement of contributions with leave-one-out.

    Attributes:
        documents: compared (query, document) pairs: of two passages or more.
        tau: Kendall's tau (tau-b) of the passages' values, -1 to 1; documents with equal values only have none.
        top_1: share of the documents whose best passage is the same.
        by_chance: expected `top_1` if the best passage were drawn at random.
    """

    documents: int
    tau: Estimate | None
    top_1: Estimate
    by_chance: float


def leave_one_out(scorer: PassageDocumentScorer, block: Sequence[Candidate]) -> list[Evidence]:
    """Return the evidence of a document network with leave-one-out in place of contributions, one for each candidate.

    Args:
        scorer: passages of a document network. A score cache spares reading each passage again.
        block: candidates.

    Raises:
        InputError: the scorer gives no document scores.
    """
    tasks, scored = scorer.prepare(block).tasks, scorer.evidence(block)
    rest = scorer.scorer.score([part for task in tasks if len(task.texts) > 1 for part in _parts(task)])
    scores, results = iter(rest), []
    for task, evidence in zip(tasks, scored, strict=True):
        if evidence.document_score is None:
            raise InputError(
                "leave-one-out needs the document scores of a document network", about=("evidence",), got=scorer.unit
            )
        others = [next(scores).document for _ in task.texts] if len(task.texts) > 1 else [0.0]
        worth = evidence.document_score - np.array(others, np.float64)
        results.append(replace(evidence, passage_weight=worth.astype(np.float32)))
    return results


def _parts(task: ScoringTask) -> list[ScoringTask]:
    """Return the task without each of its passages in turn."""
    return [
        task._replace(passages=task.passages[:n] + task.passages[n + 1 :], texts=task.texts[:n] + task.texts[n + 1 :])
        for n in range(len(task.texts))
    ]


def contribution_agreement(
    contributions: Iterable[Evidence], left_out: Iterable[Evidence], *, seed: int = SEED
) -> ContributionAgreement:
    """Compare the weights of two evidences of the same documents, passage by passage.

    Args:
        contributions: evidence of a document network.
        left_out: evidence with leave-one-out, of the same passages.
        seed: seed of the confidence intervals (bootstrap over documents).

    Raises:
        InputError: no document of two passages or more in common, or a document with other passages.
    """
    others = {(evidence.query_id, evidence.doc_id): evidence for evidence in left_out}
    pairs = [
        (each, others[each.query_id, each.doc_id]) for each in contributions if (each.query_id, each.doc_id) in others
    ]
    rows = [row for pair in pairs if (row := _compared(*pair)) is not None]
    if not rows:
        raise InputError("there is no document of two passages or more to compare", about=("evidence",))
    tau, top_1, _ = estimates(np.array(rows), seed=seed)
    assert top_1 is not None
    return ContributionAgreement(len(rows), tau, top_1, float(np.mean([row[2] for row in rows])))


def _compared(one: Evidence, other: Evidence) -> tuple[float, float, float] | None:
    """Return tau (NaN for none), 1 if the best passage is the same, and the chance of that; None for one passage."""
    from scipy.stats import kendalltau

    if any(not np.array_equal(getattr(one, name), getattr(other, name)) for name in ("passage_start", "passage_end")):
        what = f"document {one.doc_id} has other passages for query {one.query_id}: the segmenters differ"
        raise InputError(what, fix="compare evidence of the same pipeline")
    n = len(one.passage_weight)
    if n < 2:
        return None
    values = one.passage_weight, other.passage_weight
    varied = all(np.ptp(value) > 0 for value in values)
    tau = float(kendalltau(*values).statistic) if varied else np.nan
    best = [int(np.argmax(value)) for value in values]
    return tau, float(best[0] == best[1]), 1 / n
