"""How two runs differ query by query: who wins where, and by how much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from longrank.evaluation.significance import t_test

TIE = 1e-9
"""Values that differ by no more are equal: sums of the same numbers in another order."""


class Delta(NamedTuple):
    """The values of two runs for a query; ``delta = value - baseline``."""

    query_id: str
    value: float
    baseline: float
    delta: float


@dataclass(frozen=True, slots=True)
class Deltas:
    """The differences of two runs.

    Attributes:
        rows: one for each query, best for the run first; equal ones by query id.
        wins: queries that the run has a higher value for.
        ties: queries with equal values.
        losses: queries that the baseline has a higher value for.
        mean: of the differences.
        p: two-sided p of the paired t-test, not corrected; None for fewer than two queries.
    """

    rows: tuple[Delta, ...]
    wins: int
    ties: int
    losses: int
    mean: float
    p: float | None


def deltas(values: Mapping[str, float], baseline: Mapping[str, float]) -> Deltas:
    """Return the differences of a run and a baseline over all queries of either, 0 where one has none.

    Args:
        values: query_id -> value of the run, of one measure; together with `baseline` at least one query.
        baseline: the same of the other run.
    """
    pairs = {q: (values.get(q, 0.0), baseline.get(q, 0.0)) for q in {**values, **baseline}}
    rows = [Delta(query_id, one, other, one - other) for query_id, (one, other) in pairs.items()]
    rows.sort(key=lambda row: (-row.delta, row.query_id))
    differences = np.array([row.delta for row in rows])
    wins, losses = int((differences > TIE).sum()), int((differences < -TIE).sum())
    ties = len(rows) - wins - losses
    return Deltas(tuple(rows), wins, ties, losses, float(differences.mean()), t_test(differences))
