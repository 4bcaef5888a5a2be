"""Birch (Akkalyoncu Yilmaz et al. 2019), equation 1 without the first stage: sum of w_i S_i.

S_1 >= S_2 >= S_3 are the best sentence scores of the document, and w_1 = 1. Raw interpolation with the first stage
follows: `longrank.aggregation.interpolate`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Annotated

import numpy as np
from annotated_types import MinLen

from longrank.errors import InputError
from longrank.types import Evidence


def birch(evidence: Evidence, *, weights: Annotated[Sequence[float], MinLen(1)]) -> float:
    """Return the weighted sum of the best sentence scores.

    Args:
        evidence: P sentence scores.
        weights: weights of the best, the second best, ... sentence; surplus weights are ignored.

    Raises:
        InputError: a weighted sum that no 64-bit float holds.
    """
    best = np.sort(evidence.passage_score)[::-1][: len(weights)].astype(np.float64)
    with np.errstate(over="ignore"):
        score = float(best @ np.array(weights[: len(best)], dtype=np.float64))
    if not isfinite(score) and np.isfinite(best).all():
        raise InputError("weights are too large for these sentence scores", got=list(weights))
    return score
