"""Weighted Mean of Santos et al.: sum(w_i s_i) / sum(w_i), w_i = query terms in sentence i.

Their Max and Sum are `maxp` and `sump` over sentences.
"""

from __future__ import annotations

import numpy as np

from longrank.aggregation.pooling import avgp
from longrank.errors import InputError
from longrank.types import Evidence


def weighted_mean(evidence: Evidence) -> float:
    """Return the mean of the sentence scores weighted by the passage weights; the plain mean if all weights are 0.

    All are 0 if no sentence shares a term with the query; the paper does not define this case.

    Raises:
        InputError: the evidence is of a document network, whose weights are contributions of passages.
    """
    if evidence.document_score is not None:
        raise InputError(
            "evidence of a document network has no sentence weights",
            about=("evidence",),
            fix="choose the aggregator document or maxp",
        )
    weights = evidence.passage_weight.astype(np.float64)
    total = float(weights.sum())
    return float(weights @ evidence.passage_score.astype(np.float64)) / total if total > 0 else avgp(evidence)
