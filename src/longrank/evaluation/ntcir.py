"""The measures of NTCIREVAL that ir_measures lacks: Q-measure and normalised expected reciprocal rank.

As NTCIREVAL computes them with gain x for grade x (``-g 1:2:3...``); its MSnDCG@k is nDCG@k here.
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
    """Expected reciprocal rank (Chapelle et al., 2009) divided by that of the ideal ranking."""

    __name__ = NAME = "nERR"
    SUPPORTED_PARAMS = {  # noqa: RUF012
        "cutoff": _CUTOFF,
        "top": ParamInfo(dtype=int, required=False, default=4, desc="highest grade of the scale"),
    }


NTCIR = {"Q": _Q(), "nERR": _NormalisedERR()}
"""name -> measure, as in ir_measures' registry."""


def q_measure(gains: Sequence[int], ideal: Sequence[int], cutoff: int | None, beta: float) -> float:
    """Return the mean blended ratio at the relevant documents, over min(their number, cutoff); 0 if there is none.

    At rank r it is (relevant so far + beta * gain so far) / (r + beta * ideal gain so far).

    Args:
        gains: of the retrieved documents, best first; 0 if not relevant.
        ideal: of all relevant documents, largest first.
        cutoff: look at this many ranks; None: at all.
        beta: weight of gains; 0 gives average precision.
    """
    found = gains[:cutoff]
    best = list(accumulate(ideal[: len(found)])) + [sum(ideal)] * max(0, len(found) - len(ideal))
    hits, so_far = accumulate(gain > 0 for gain in found), accumulate(found)
    blended = [
        (hit + beta * gain) / (rank + beta * most)
        for rank, (here, hit, gain, most) in enumerate(zip(found, hits, so_far, best, strict=True), 1)
        if here > 0
    ]
    n = len(ideal) if cutoff is None else min(len(ideal), cutoff)
    return sum(blended) / n if n else 0.0


def normalised_err(gains: Sequence[int], ideal: Sequence[int], cutoff: int | None, top: int) -> float:
    """Return expected reciprocal rank over that of the ideal ranking; 0 if nothing is relevant.

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
        measure: which.
        judged: doc_id -> grade; negative means "not judged".
        ranking: doc_ids, best first.
    """
    gains = [max(0, judged.get(doc_id, 0)) for doc_id in ranking]
    ideal = sorted((grade for grade in judged.values() if grade > 0), reverse=True)
    if measure.NAME == "Q":
        return q_measure(gains, ideal, measure.params.get("cutoff"), measure["beta"])
    return normalised_err(gains, ideal, measure.params.get("cutoff"), measure["top"])
