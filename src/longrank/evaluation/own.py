"""Measures that LongRank computes itself: counts, interpolated precision, and NTCIREVAL's Q and nERR.

ir_measures counts no relevant documents for topics that the run lacks. trec_eval 10 rounds a recall level to the
nearest number of relevant documents; ir_measures (trec_eval 9) nearly always rounds it up and lacks Q
and nERR.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

Measure: TypeAlias = Any
"""An ``ir_measures.Measure``."""

COUNTS = ("NumQ", "NumRet", "NumRel")
"""Measures that are summed over queries, never averaged or compared."""

OWN = (*COUNTS, "IPrec", "Q", "nERR")


def own_value(measure: Measure, judged: Mapping[str, int], ranking: Sequence[str]) -> float:
    """Return the value of one of the `OWN` measures for one query.

    Args:
        measure: the measure.
        judged: doc_id -> grade; negative means "not judged".
        ranking: doc_ids, best first; empty if the run lacks the query.
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
    """Return the highest precision at any rank with at least this recall; 0 if no rank has it.

    Args:
        hits: whether each retrieved document is relevant, best first.
        relevant: number of relevant documents.
        recall: 0 to 1; means ``recall * relevant`` documents, rounded to the nearest number.
    """
    needed = math.floor(recall * relevant + 0.5)
    counts = list(accumulate(hits))
    return max((n / rank for rank, n in enumerate(counts, 1) if n >= needed), default=0.0)
