"""A bound on the expensive score of a document given its cheap one, and how far a query's candidates are read with it.

The candidates of a query are read in the order of their cheap score (`walk`), k at a time, until the
bound of the next one is below the k-th best expensive score so far (`may_stop`); the others are left alone.

    bound(x) = g(x) + margin

g is the monotone regression (pool adjacent violators) of expensive on cheap scores over all candidates of
all queries. The margin is the least for which the risk, the mean share of a query's true top k that is left
alone, is controlled (conformal risk control, Angelopoulos et al. 2022): R being the risk over the n queries,
(n R + 1) / (n + 1) <= the risk asked for.
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
    """Cheap and expensive document scores of one query's candidates, float64[D] each, cheap ones falling."""

    cheap: Floats
    expensive: Floats


class Bound(NamedTuple):
    """The bound: g is piecewise linear through the points (x, y), and constant beyond them; float64[N] each."""

    x: Floats
    y: Floats
    margin: float

    def of(self, cheap: Floats) -> Floats:
        """Return the bound on the expensive score of each document."""
        return np.interp(cheap, self.x, self.y) + self.margin


def walk(doc_ids: Sequence[str], cheap: Sequence[float]) -> list[int]:
    """Return the positions of documents in the order in which they are read: best first, ties by doc_id falling."""
    return sorted(range(len(doc_ids)), key=lambda n: (cheap[n], doc_ids[n]), reverse=True)


def may_stop(expensive: Sequence[float], next_bound: float, k: int) -> bool:
    """Say whether no document whose bound is at most `next_bound` can enter the top k of those scored."""
    return len(expensive) >= k and next_bound < sorted(expensive)[-k]


def fit(pairs: Sequence[Pairs], k: int, risk: float) -> Bound:
    """Return the bound with the least margin that controls the risk.

    Raises:
        InputError: too few queries for this risk.
    """
    n = len(pairs)
    if (n + 1) * risk < 1:
        fix = f"calibrate with {math.ceil(1 / risk) - 1} queries or more, or allow more risk"
        raise InputError("too few queries for this risk", got=f"{n} queries, risk {risk}", fix=fix)
    x, y = monotone(np.concatenate([one.cheap for one in pairs]), np.concatenate([one.expensive for one in pairs]))
    # A walk changes only where the margin passes the distance of a bound to the score that it is compared with.
    distances = sorted({distance for one in pairs for distance in _distances(one, Bound(x, y, 0.0), k)})
    margins = [*(distance - _BARELY for distance in distances), distances[-1] + _BARELY] if distances else [0.0]

    def controlled(margin: float) -> bool:
        missed = math.fsum(_missed(one, n_read(one, Bound(x, y, margin), k), k) for one in pairs)
        return (missed + 1) / (n + 1) <= risk

    return Bound(x, y, margins[bisect.bisect_left(margins, True, hi=len(margins) - 1, key=controlled)])


def held_out(pairs: Mapping[str, Pairs], k: int, risk: float) -> tuple[float, float]:
    """Return the mean share of the true top k, and the share of candidates, left alone by bounds of other queries.

    Raises:
        InputError: too few queries for this risk.
    """
    bounds = held_out_bounds(pairs, k, risk)
    read = {query_id: n_read(one, bounds[query_id], k) for query_id, one in pairs.items()}
    missed = math.fsum(_missed(one, read[query_id], k) for query_id, one in pairs.items()) / len(pairs)
    return missed, 1 - sum(read.values()) / sum(len(one.cheap) for one in pairs.values())


def held_out_bounds(pairs: Mapping[str, Pairs], k: int, risk: float) -> dict[str, Bound]:
    """Return for each query the bound that is learned from the four fifths of queries without it.

    Raises:
        InputError: too few queries for this risk.
    """
    others = [[one for query_id, one in pairs.items() if _fold(query_id) != fold] for fold in range(_FOLDS)]
    bounds = [fit(some, k, risk) for some in others]
    return {query_id: bounds[_fold(query_id)] for query_id in pairs}


def n_read(pairs: Pairs, bound: Bound, k: int) -> int:
    """Return how many documents of a query are read before the walk stops."""
    bounds, expensive = bound.of(pairs.cheap).tolist(), pairs.expensive.tolist()
    for n in range(k, len(bounds), k):
        if may_stop(expensive[:n], bounds[n], k):
            return n
    return len(bounds)


def monotone(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the monotone regression of y on x: the mean x and the mean y, both rising, of pooled neighbours."""
    values, place = np.unique(x, return_inverse=True)
    counts = np.bincount(place).astype(float)
    pools: list[tuple[float, float, float]] = []  # sums of x and of y, and how many
    for one in zip(values * counts, np.bincount(place, y), counts, strict=True):
        sum_x, sum_y, n = (float(part) for part in one)
        while pools and pools[-1][1] / pools[-1][2] >= sum_y / n:
            before = pools.pop()
            sum_x, sum_y, n = sum_x + before[0], sum_y + before[1], n + before[2]
        pools.append((sum_x, sum_y, n))
    sums = np.array(pools)
    return sums[:, 0] / sums[:, 2], sums[:, 1] / sums[:, 2]


def _distances(pairs: Pairs, bound: Bound, k: int) -> Iterator[float]:
    """Yield, for each place where the walk may stop, the margin from which on it does not."""
    bounds, expensive = bound.of(pairs.cheap).tolist(), pairs.expensive.tolist()
    for n in range(k, len(bounds), k):
        yield sorted(expensive[:n])[-k] - bounds[n]


def _missed(pairs: Pairs, read: int, k: int) -> float:
    """Return the share of the true top k that is not among the first `read` documents."""
    best = np.argsort(-pairs.expensive, kind="stable")[:k]
    return float(np.mean(best >= read))


def _fold(query_id: str) -> int:
    return int.from_bytes(hashlib.sha256(query_id.encode()).digest()[:8], "big") % _FOLDS
