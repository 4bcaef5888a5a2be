"""Measure many rankings of the same documents at once; each value equals that of `evaluate`.

AP, nDCG, P, R and RR need only the ranks of the relevant documents, which come from sorted scores. Other measures are
computed ranking by ranking.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from longrank.evaluation.measures import evaluate_rankings
from longrank.evaluation.own import Measure

Floats: TypeAlias = NDArray[np.float64]
Places: TypeAlias = NDArray[np.intp]
Values: TypeAlias = Callable[[Floats], Floats]
"""Scores of D documents under S settings, [S, D] -> value of each ranking, [S]."""


def measured(measure: Measure, judged: Mapping[str, int], doc_ids: Sequence[str], below: Sequence[str]) -> Values:
    """Return a function that measures rankings of a query's documents.

    Args:
        measure: as `parse_measure` returns it.
        judged: doc_id -> grade.
        doc_ids: the D documents to rank, in ascending order; ties go to the later document, as in a `Run`.
        below: other documents, which follow below in this order.
    """
    if measure.NAME in _BY_RANKS and measure.params.keys() <= {"cutoff", "rel"}:
        return _by_ranks(measure, judged, doc_ids, below)

    def one_by_one(scores: Floats) -> Floats:
        rankings = {str(n): [doc_ids[i] for i in row] + list(below) for n, row in enumerate(orders(scores))}
        values = evaluate_rankings(dict.fromkeys(rankings, judged), {n: r for n, r in rankings.items() if r}, [measure])
        return np.array(list(values[str(measure)].values()))

    return one_by_one


def orders(scores: Floats) -> Places:
    """Return the documents of each ranking, best first, by place, [S, D]; ties of float32 scores: last place first.

    Score and place are sorted as a single integer: the bits of the float32, mapped to its order, above the place.
    """
    bits = (scores.astype(np.float32) + np.float32(0)).view(np.uint32)  # -0 becomes 0
    ordered = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31)).astype(np.uint64)
    keys = (ordered << np.uint64(32)) | np.arange(scores.shape[1], dtype=np.uint64)
    keys.sort(axis=1)
    return (keys & np.uint64(2**32 - 1)).astype(np.intp)[:, ::-1]


def _by_ranks(measure: Measure, judged: Mapping[str, int], doc_ids: Sequence[str], below: Sequence[str]) -> Values:
    """Return a function that measures by the ranks of relevant documents; these are the same in all rankings."""
    level = measure.params.get("rel", 1)
    ideal = np.sort([grade for grade in judged.values() if grade >= level])[::-1].astype(np.float64)
    grades, rest = (np.array([judged.get(doc_id, 0) for doc_id in ids], int) for ids in (doc_ids, below))
    (after,) = np.nonzero(rest >= level)
    value, cutoff = _BY_RANKS[measure.NAME], measure.params.get("cutoff", sys.maxsize)

    def at_once(scores: Floats) -> Floats:
        order = orders(scores)
        hits = (grades >= level)[order]
        shape = len(scores), int(np.count_nonzero(grades >= level))
        ranks = np.nonzero(hits)[1].reshape(shape) + 1
        gains = grades[order[hits]].reshape(shape)
        ranks, gains = (
            np.hstack([ranked, np.broadcast_to(same, (len(scores), len(same)))])
            for ranked, same in ((ranks, len(doc_ids) + 1 + after), (gains, rest[after]))
        )
        if not ranks.size:
            return np.zeros(len(scores))
        return value(ranks, gains * (ranks <= cutoff), ideal, cutoff)

    return at_once


# --- measures: relevant documents' ranks, ascending, and gains, 0 beyond the cutoff, [S, R'] -> [S] ---


def _average_precision(ranks: Places, gains: Places, ideal: Floats, cutoff: int) -> Floats:
    precisions = np.arange(1, ranks.shape[1] + 1) / ranks
    return _total(precisions * (gains > 0)) / len(ideal)


def _ndcg(ranks: Places, gains: Places, ideal: Floats, cutoff: int) -> Floats:
    best = ideal[:cutoff] / np.log2(np.arange(2, len(ideal[:cutoff]) + 2))
    return _total(gains / np.log2(ranks + 1)) / _total(best[None])


def _precision(ranks: Places, gains: Places, ideal: Floats, cutoff: int) -> Floats:
    precision: Floats = np.count_nonzero(gains, axis=1) / np.float64(cutoff)
    return precision


def _recall(ranks: Places, gains: Places, ideal: Floats, cutoff: int) -> Floats:
    recall: Floats = np.count_nonzero(gains, axis=1) / np.float64(len(ideal))
    return recall


def _reciprocal_rank(ranks: Places, gains: Places, ideal: Floats, cutoff: int) -> Floats:
    return (gains[:, 0] > 0) / ranks[:, 0]


_BY_RANKS: dict[str, Callable[[Places, Places, Floats, int], Floats]] = {
    "AP": _average_precision,
    "nDCG": _ndcg,
    "P": _precision,
    "R": _recall,
    "RR": _reciprocal_rank,
}


def _total(terms: Floats) -> Floats:
    """Return the sums of rows, added from rank to rank as trec_eval does."""
    total: Floats = np.cumsum(terms, axis=1)[:, -1]
    return total
