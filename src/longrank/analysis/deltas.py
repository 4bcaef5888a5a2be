"""Compare two runs query by query: wins, ties, losses and differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from longrank.evaluation.significance import t_test

TIE = 1e-9
"""Largest difference of equal values: sums of the same numbers in another order."""


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
        rows: a row for each query, largest difference first; ties by query id.
        wins: queries with a higher value of the run.
        ties: queries with equal values.
        losses: queries with a higher value of the baseline.
        mean: mean difference.
        p: two-sided p of the paired t-test, not corrected; None for fewer than two queries.
    """

    rows: tuple[Delta, ...]
    wins: int
    ties: int
    losses: int
    mean: float
    p: float | None


def deltas(values: Mapping[str, float], baseline: Mapping[str, float]) -> Deltas:
    """Return the differences of a run and a baseline over all queries of either; a missing value is 0.

    Args:
        values: query_id -> value of the run, in one measure; with `baseline` at least one query.
        baseline: query_id -> value of the baseline.
    """
    pairs = {q: (values.get(q, 0.0), baseline.get(q, 0.0)) for q in {**values, **baseline}}
    rows = [Delta(query_id, value, base, value - base) for query_id, (value, base) in pairs.items()]
    rows.sort(key=lambda row: (-row.delta, row.query_id))
    differences = np.array([row.delta for row in rows])
    wins, losses = int((differences > TIE).sum()), int((differences < -TIE).sum())
    ties = len(rows) - wins - losses
    return Deltas(tuple(rows), wins, ties, losses, float(differences.mean()), t_test(differences))
