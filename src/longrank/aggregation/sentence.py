"""Weighted Mean of Santos et al.: sum(w_i s_i) / sum(w_i), w_i = query terms in sentence i.

Their Max and Sum are `maxp` and `sump` over sentences.
"""

from __future__ import annotations

import numpy as np

from longrank.aggregation.pooling import avgp
from longrank.errors import InputError
from longrank.types import Evidence


def weighted_mean(evidence: Evidence) -> float:
    """Return the mean of the sentence scores weighted by the passage weights.

    Where no sentence shares a term with the query (all weights 0), which the paper leaves open, it is
    the plain mean.

    Raises:
        InputError: the weights are none of sentences, but what passages contributed to a network's document score.
    """
    if evidence.document_score is not None:
        raise InputError(
            "the evidence is of a network, which holds no weights of sentences", fix="choose document, or maxp"
        )
    weights = evidence.passage_weight.astype(np.float64)
    total = float(weights.sum())
    return float(weights @ evidence.passage_score.astype(np.float64)) / total if total > 0 else avgp(evidence)
