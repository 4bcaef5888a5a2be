"""Measures of NTCIREVAL that ir_measures lacks: Q-measure and normalised expected reciprocal rank.

Gain x for grade x (NTCIREVAL's ``-g 1:2:3...``); NTCIREVAL's MSnDCG@k is nDCG@k here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

from ir_measures.measures import Measure, ParamInfo

_CUTOFF = ParamInfo(dtype=int, required=False, desc="ranking cutoff threshold")


class _Q(Measure):  # type: ignore[misc]
    """Q-measure (Sakai, 2004)."""

    __name__ = NAME = "Q"
    SUPPORTED_PARAMS = {  # noqa: RUF012 - as ir_measures declares it
        "cutoff": _CUTOFF,
        "beta": ParamInfo(dtype=float, required=False, default=1.0, desc="weight of gains against ranks"),
    }


class _NormalisedERR(Measure):  # type: ignore[misc]
    """Expected reciprocal rank (Chapelle et al., 2009) divided by its value for the ideal ranking."""

    __name__ = NAME = "nERR"
    SUPPORTED_PARAMS = {  # noqa: RUF012
        "cutoff": _CUTOFF,
        "top": ParamInfo(dtype=int, required=False, default=4, desc="highest grade of the scale"),
    }


NTCIR = {"Q": _Q(), "nERR": _NormalisedERR()}
"""name -> measure, as in ir_measures' registry."""


def q_measure(gains: Sequence[int], ideal: Sequence[int], cutoff: int | None, beta: float) -> float:
    """Return the mean blended ratio at the relevant documents, over min(their number, cutoff); 0 if there is none.

    The blended ratio at rank r is (relevant so far + beta * gain so far) / (r + beta * ideal gain so far).

    Args:
        gains: gains of the retrieved documents, best first; 0 if not relevant.
        ideal: gains of all relevant documents, largest first.
        cutoff: number of ranks; None: all.
        beta: weight of gains; 0 gives average precision.
    """
    seen = gains[:cutoff]
    best = list(accumulate(ideal[: len(seen)])) + [sum(ideal)] * max(0, len(seen) - len(ideal))
    hits, so_far = accumulate(gain > 0 for gain in seen), accumulate(seen)
    blended = [
        (hit + beta * gain) / (rank + beta * most)
        for rank, (here, hit, gain, most) in enumerate(zip(seen, hits, so_far, best, strict=True), 1)
        if here > 0
    ]
    n = len(ideal) if cutoff is None else min(len(ideal), cutoff)
    return sum(blended) / n if n else 0.0


def normalised_err(gains: Sequence[int], ideal: Sequence[int], cutoff: int | None, top: int) -> float:
    """Return expected reciprocal rank divided by its value for the ideal ranking; 0 if no document is relevant.

    A document of gain g ends the search with probability g / (top + 1).
    """
    most = _err(ideal[:cutoff], top)
    return _err(gains[:cutoff], top) / most if most else 0.0


def _err(gains: Sequence[int], top: int) -> float:
    value, on = 0.0, 1.0
    for rank, gain in enumerate(gains, 1):
        value += on * gain / (top + 1) / rank
        on *= 1 - gain / (top + 1)
    return value


def ntcir_value(measure: Measure, judged: Mapping[str, int], ranking: Sequence[str]) -> float:
    """Return the value of one of the `NTCIR` measures for one query.

    Args:
        measure: the measure.
        judged: doc_id -> grade; negative means "not judged".
        ranking: doc_ids, best first.
    """
    gains = [max(0, judged.get(doc_id, 0)) for doc_id in ranking]
    ideal = sorted((grade for grade in judged.values() if grade > 0), reverse=True)
    if measure.NAME == "Q":
        return q_measure(gains, ideal, measure.params.get("cutoff"), measure["beta"])
    return normalised_err(gains, ideal, measure.params.get("cutoff"), measure["top"])
