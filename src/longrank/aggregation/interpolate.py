"""Linear interpolation of the first stage and the passages: alpha * first + (1 - alpha) * passages.

Alpha weighs the FIRST stage, as in Birch, which adds raw scores. Scores of different scales are
min-max normalised per query first.
"""

from __future__ import annotations

from longrank.config import lookup
from longrank.errors import InputError
from longrank.fusion import NORMALIZERS, Scores, add


def interpolate(first: Scores, passages: Scores, alpha: float, normalize: str = "none") -> dict[str, float]:
    """Mix two scores of each document of one query, in float64.

    Args:
        first: doc_id -> first-stage score.
        passages: doc_id -> aggregated passage score.
        alpha: weight of the first stage, in [0, 1].
        normalize: ``none`` or ``minmax`` (each side by itself; where all scores are equal, all are 1).

    Returns:
        A score for every document of either side. A side that lacks a document gives it nothing:
        0 raw (Birch), which is that side's minimum after min-max.

    Raises:
        InputError: alpha outside [0, 1], or an unknown normalisation.
    """
    check_alpha(alpha)
    scale = lookup(NORMALIZERS, normalize, "normalisation")
    sides = ((alpha, scale(first)), (1 - alpha, scale(passages)))
    return add([{doc_id: weight * score for doc_id, score in side.items()} for weight, side in sides])


def check_alpha(alpha: float) -> None:
    """Refuse an interpolation weight outside [0, 1].

    Raises:
        InputError: it is.
    """
    if not 0 <= alpha <= 1:
        raise InputError("the weight of the first stage lies between 0 and 1", got=alpha)
