"""The measures that LongRank computes itself: counts, interpolated precision, and those of NTCIREVAL.

Counts, because ir_measures counts nothing for a topic that the run misses, while such a topic does have
relevant documents. Interpolated precision, because trec_eval 10 rounds the number of relevant documents
that a recall level stands for to the nearest integer, and ir_measures (trec_eval 9) nearly always up. Q and nERR,
because ir_measures has neither.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

Measure: TypeAlias = Any
"""An ``ir_measures.Measure``."""

COUNTS = ("NumQ", "NumRet", "NumRel")
"""Summed over queries, never averaged or compared."""

OWN = (*COUNTS, "IPrec", "Q", "nERR")


def own_value(measure: Measure, judged: Mapping[str, int], ranking: Sequence[str]) -> float:
    """Return the value of one of the `OWN` measures for one query.

    Args:
        measure: which.
        judged: doc_id -> grade; negative means "not judged".
        ranking: doc_ids, best first; empty if the run misses the query.
    """
    if measure.NAME in {"Q", "nERR"}:
        from longrank.evaluation.ntcir import ntcir_value

        return ntcir_value(measure, judged, ranking)
    level = measure.params.get("rel")
    if measure.NAME == "NumQ":
        return 1.0
    if measure.NAME == "NumRel":
        return float(sum(grade >= (level or 1) for grade in judged.values()))
    if measure.NAME == "NumRet":
        return float(len(ranking) if level is None else sum(judged.get(doc_id, 0) >= level for doc_id in ranking))
    if measure.params.get("judged_only"):
        ranking = [doc_id for doc_id in ranking if judged.get(doc_id, -1) >= 0]
    hits = [judged.get(doc_id, 0) >= (level or 1) for doc_id in ranking]
    relevant = sum(grade >= (level or 1) for grade in judged.values())
    return interpolated_precision(hits, relevant, measure.params["recall"])


def interpolated_precision(hits: Sequence[bool], relevant: int, recall: float) -> float:
    """Return the highest precision at any rank where at least `recall` has been reached; 0 if it never is.

    Args:
        hits: whether each retrieved document is relevant, best first.
        relevant: how many relevant documents there are.
        recall: between 0 and 1; it stands for ``recall * relevant`` documents, rounded to the nearest.
    """
    needed = math.floor(recall * relevant + 0.5)
    found = list(accumulate(hits))
    return max((n / rank for rank, n in enumerate(found, 1) if n >= needed), default=0.0)
