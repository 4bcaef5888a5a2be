"""Scores of any unit as relevance between 0 and 1."""

from __future__ import annotations

import math
from collections.abc import Callable


def relevance_of(score: float, unit: str, *, bounded: bool = True) -> float:
    """Map a score to a number between 0 and 1. The order is kept; the number is not a probability.

    Logits go through the sigmoid, log probabilities through exp, a cosine c becomes (1 + c) / 2, BM25 s >= 0
    becomes s / (1 + s). A mixed score is relative to the other passages of the query, and stays as it is. A sum x, of
    cosines (MaxSim) or by aggregation, becomes (1 + x / (1 + |x|)) / 2: the sigmoid of 37 is 1 already.

    Args:
        score: score of a document or passage.
        unit: unit of the scorer.
        bounded: true if the score is in the unit's range.
    """
    to_relevance = _RELEVANCE.get(unit, _sigmoid) if bounded else _of_sum
    return min(1.0, max(0.0, to_relevance(score)))


def _of_sum(score: float) -> float:
    return (1 + score / (1 + abs(score))) / 2


_RELEVANCE: dict[str, Callable[[float], float]] = {
    "prob": lambda score: score,
    "mixed": lambda score: score,
    "logprob": math.exp,
    "cosine": lambda score: (1 + score) / 2,
    "bm25": lambda score: score / (1 + score),
    "maxsim": _of_sum,
}


def _sigmoid(score: float) -> float:
    small = math.exp(-abs(score))
    return 1 / (1 + small) if score >= 0 else small / (1 + small)
