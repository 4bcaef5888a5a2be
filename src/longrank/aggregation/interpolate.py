"""Linear interpolation of first stage and passages: alpha * first + (1 - alpha) * passages.

Alpha is the weight of the FIRST stage, as in Birch, which adds raw scores. Use min-max normalisation per query for
scores of different scales.
"""

from __future__ import annotations

from longrank.errors import InputError
from longrank.fusion import NORMALIZERS, Scores, add
from longrank.registries import lookup


def interpolate(first: Scores, passages: Scores, alpha: float, normalize: str = "none") -> dict[str, float]:
    """Mix the two scores of each document of a query, in float64.

    Args:
        first: doc_id -> first-stage score.
        passages: doc_id -> aggregated passage score.
        alpha: weight of the first stage, in [0, 1].
        normalize: ``none`` or ``minmax`` (each side by itself; equal scores all become 1).

    Returns:
        A score for every document of either side. A document that a side lacks gets 0 from it: raw, as in Birch;
        after min-max, 0 is the side's minimum.

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
        InputError: `alpha` is outside.
    """
    if not 0 <= alpha <= 1:
        raise InputError("the weight of the first stage must be between 0 and 1", got=alpha)
