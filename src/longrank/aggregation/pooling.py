"""Pooling of passage scores s_1 .. s_P into a document score.

    FirstP = s_1     MaxP = max s_i     SumP = sum s_i     AvgP = SumP / P      (Dai and Callan 2019)
    k-max  = mean of the k largest, or of all if there are fewer

Evidence holds real passages only: there is no padding to mask, and scores do not depend on batches.
Sums are made in float64. The score of a single passage is the document score.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from annotated_types import Ge

from longrank.types import Evidence


def firstp(evidence: Evidence) -> float:
    """Return the score of the first scored passage."""
    return float(evidence.passage_score[0])


def maxp(evidence: Evidence) -> float:
    """Return the score of the best passage; Santos' Max."""
    return float(evidence.passage_score.max())


def sump(evidence: Evidence) -> float:
    """Return the sum of the passage scores; Santos' Sum."""
    return float(evidence.passage_score.sum(dtype=np.float64))


def avgp(evidence: Evidence) -> float:
    """Return the mean of the passage scores."""
    return float(evidence.passage_score.mean(dtype=np.float64))


def kmaxp(evidence: Evidence, *, k: Annotated[int, Ge(1)] = 3) -> float:
    """Return the mean of the `k` largest passage scores, or of all if there are fewer."""
    return float(np.sort(evidence.passage_score)[-k:].mean(dtype=np.float64))
