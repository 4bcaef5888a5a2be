"""Bound the expensive score of a document by its cheap score, and stop reading where the bound allows it.

The candidates of a query are scored in the order of their cheap scores (`walk`), k at a time, until the
bound of the next candidate is below the k-th best expensive score so far (`may_stop`). The rest is skipped.

    bound(x) = g(x) + margin

g is the monotone regression (pool adjacent violators) of expensive on cheap scores over all candidates of
all queries. The margin (`fit`) controls the risk: the mean share of a query's true top k that is skipped
(conformal risk control, Angelopoulos et al. 2022). With empirical risk R over n queries,
(n R + 1) / (n + 1) <= the allowed risk.
"""

from __future__ import annotations

import bisect
import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError

Floats = NDArray[np.float64]

_FOLDS = 5
_BARELY = 1e-9


class Pairs(NamedTuple):
    """Cheap and expensive scores of one query's candidates, float64[D] each, and their ids, in the order of `walk`."""

    cheap: Floats
    expensive: Floats
    doc_ids: Sequence[str]


class Bound(NamedTuple):
    """The bound: g is piecewise linear through the points (x, y), float64[N] each, and constant beyond them."""

    x: Floats
    y: Floats
    margin: float

    def of(self, cheap: Floats) -> Floats:
        """Return the bound on the expensive score of each document."""
        return np.interp(cheap, self.x, self.y) + self.margin


def walk(doc_ids: Sequence[str], scores: Sequence[float]) -> list[int]:
    """Return the positions of documents in the order of a ranking: best score first, ties by descending doc_id."""
    return sorted(range(len(doc_ids)), key=lambda n: (scores[n], doc_ids[n]), reverse=True)


def may_stop(expensive: Sequence[float], next_bound: float, k: int) -> bool:
    """Tell whether no document with a bound of at most `next_bound` can enter the current top k."""
    return len(expensive) >= k and next_bound < sorted(expensive)[-k]


def fit(pairs: Sequence[Pairs], k: int, risk: float) -> Bound:
    """Return the bound with the smallest margin that controls the risk.

    The margin is then raised to the largest margin with which no query is read further.

    Raises:
        InputError: there are too few queries for this risk.
    """
    n = len(pairs)
    _check_number(n, risk, f"{n} queries", "calibrate with {} queries or more, or allow more risk")
    x, y = monotone(
        np.concatenate([query.cheap for query in pairs]), np.concatenate([query.expensive for query in pairs])
    )
    # The walk changes only at margins that equal the distance between a bound and the score it is compared with.
    distances = sorted({distance for query in pairs for distance in _distances(query, Bound(x, y, 0.0), k)})
    margins = [*(distance - _BARELY for distance in distances), distances[-1] + _BARELY] if distances else [0.0]

    best = [_best(query, k) for query in pairs]

    def controlled(margin: float) -> bool:
        read = (n_read(query, Bound(x, y, margin), k) for query in pairs)
        missed = math.fsum(map(_missed, best, read))
        return (missed + 1) / (n + 1) <= risk

    return Bound(x, y, margins[bisect.bisect_left(margins, True, hi=len(margins) - 1, key=controlled)])


def _check_number(n: int, risk: float, given: str, fix: str) -> None:
    """Refuse a number of queries that controls no such risk; `fix` has a place for the number that does."""
    if (n + 1) * risk < 1:
        got, fix = f"{given}, risk {risk}", fix.format(math.ceil(1 / risk) - 1)
        raise InputError("too few queries for this risk", about=("evidence",), got=got, fix=fix)


def held_out(pairs: Mapping[str, Pairs], k: int, risk: float) -> tuple[float, float]:
    """Return two shares skipped by held-out bounds: the mean share of the true top k, and the share of candidates.

    Raises:
        InputError: there are too few queries for this risk.
    """
    bounds = held_out_bounds(pairs, k, risk)
    read = {query_id: n_read(query, bounds[query_id], k) for query_id, query in pairs.items()}
    missed = math.fsum(_missed(_best(query, k), read[query_id]) for query_id, query in pairs.items()) / len(pairs)
    return missed, 1 - sum(read.values()) / sum(len(query.cheap) for query in pairs.values())


def held_out_bounds(pairs: Mapping[str, Pairs], k: int, risk: float) -> dict[str, Bound]:
    """Return for each query the bound learned on the four folds of queries that lack it.

    Raises:
        InputError: there are too few queries for this risk.
    """
    training = [[query for query_id, query in pairs.items() if _fold(query_id) != fold] for fold in range(_FOLDS)]
    least = min(map(len, training))
    fix = "a fold needs {} queries or more: calibrate with more queries, or allow more risk"
    _check_number(least, risk, f"{len(pairs)} queries, and a fold learns from {least} queries", fix)
    bounds = [fit(queries, k, risk) for queries in training]
    return {query_id: bounds[_fold(query_id)] for query_id in pairs}


def n_read(pairs: Pairs, bound: Bound, k: int) -> int:
    """Return the number of documents that are scored before the walk stops."""
    bounds, expensive = bound.of(pairs.cheap).tolist(), pairs.expensive.tolist()
    for n in range(k, len(bounds), k):
        if may_stop(expensive[:n], bounds[n], k):
            return n
    return len(bounds)


def monotone(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the monotone regression of y on x: mean x and mean y of each pool, both ascending."""
    values, place = np.unique(x, return_inverse=True)
    counts = np.bincount(place).astype(float)
    pools: list[tuple[float, float, float]] = []  # sum of x, sum of y, number of points
    for sums_at_x in zip(values * counts, np.bincount(place, y), counts, strict=True):
        sum_x, sum_y, n = map(float, sums_at_x)
        while pools and pools[-1][1] / pools[-1][2] >= sum_y / n:
            before = pools.pop()
            sum_x, sum_y, n = sum_x + before[0], sum_y + before[1], n + before[2]
        pools.append((sum_x, sum_y, n))
    sums = np.array(pools)
    return sums[:, 0] / sums[:, 2], sums[:, 1] / sums[:, 2]


def _distances(pairs: Pairs, bound: Bound, k: int) -> Iterator[float]:
    """Yield the smallest margin that prevents each stop of the walk."""
    bounds, expensive = bound.of(pairs.cheap).tolist(), pairs.expensive.tolist()
    for n in range(k, len(bounds), k):
        yield sorted(expensive[:n])[-k] - bounds[n]


def _best(pairs: Pairs, k: int) -> NDArray[np.intp]:
    """Return the positions of the true top k."""
    return np.array(walk(pairs.doc_ids, pairs.expensive.tolist())[:k])


def _missed(best: NDArray[np.intp], read: int) -> float:
    """Return the share of the true top k that lies below the first `read` documents."""
    return float(np.mean(best >= read))


def _fold(query_id: str) -> int:
    return int.from_bytes(hashlib.sha256(query_id.encode()).digest()[:8], "big") % _FOLDS
