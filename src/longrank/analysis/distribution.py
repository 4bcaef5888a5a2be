"""Distribution of counts: mean, percentiles, histogram."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

PERCENTILES = (10, 25, 50, 75, 90, 99)
_BINS = 20  # bins up to the 99th percentile, about
_ROUND = (1, 2, 5)


class Bin(NamedTuple):
    """Number `n` of values from `start` to below `end`; None: no limit."""

    start: int
    end: int | None
    n: int


@dataclass(frozen=True, slots=True)
class Distribution:
    """Summary of counts.

    Attributes:
        n: number of counts, at least 1.
        mean: mean.
        min: lowest count.
        percentiles: the 10th, 25th, 50th (median), 75th, 90th and 99th, interpolated between neighbours.
        max: highest count.
        histogram: bins of equal width; the last bin also holds values far above the others.
    """

    n: int
    mean: float
    min: int
    percentiles: dict[int, float]
    max: int
    histogram: tuple[Bin, ...]


def distribution(counts: ArrayLike) -> Distribution:
    """Return the distribution of counts.

    Args:
        counts: integers, 0 or more; at least one.
    """
    values = np.sort(np.asarray(counts, dtype=np.int64))
    percentiles = dict(zip(PERCENTILES, np.percentile(values, PERCENTILES).tolist(), strict=True))
    low, high = int(values[0]), int(values[-1])
    return Distribution(len(values), float(values.mean()), low, percentiles, high, _histogram(values, percentiles[99]))


def _histogram(values: np.ndarray[tuple[int], np.dtype[np.int64]], almost_all: float) -> tuple[Bin, ...]:
    """Count sorted values in bins of a round width; about `_BINS` reach from the lowest to `almost_all`."""
    width = round_above((almost_all - values[0]) / _BINS)
    first = int(values[0]) // width * width
    edges = [*range(first, int(almost_all) + 1, width), None]
    bounds = [0, *np.searchsorted(values, edges[1:-1]).tolist(), len(values)]
    bins = [Bin(edges[i], edges[i + 1], bounds[i + 1] - bounds[i]) for i in range(len(edges) - 1)]
    if int(values[-1]) < bins[-1].start + width:
        bins[-1] = bins[-1]._replace(end=bins[-1].start + width)
    return tuple(bins)


def round_above(least: float) -> int:
    """Return the smallest of 1, 2, 5, 10, 20, 50, ... that is at least `least`."""
    scale: int = 10 ** max(0, math.floor(math.log10(max(least, 1.0))))
    return next(step * scale for step in (*_ROUND, 10) if step * scale >= least)


def shares(counts: Sequence[int]) -> list[float]:
    """Return each count as a share of their sum; zeros if the sum is 0."""
    total = sum(counts)
    return [count / total if total else 0.0 for count in counts]
