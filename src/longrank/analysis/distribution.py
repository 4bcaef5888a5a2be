"""How numbers that count something are distributed: mean, percentiles, histogram."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

PERCENTILES = (10, 25, 50, 75, 90, 99)
_BINS = 20  # about so many cover all but the highest hundredth
_ROUND = (1, 2, 5)


class Bin(NamedTuple):
    """How many values `n` are at least `start` and less than `end`; `end` None: without a limit."""

    start: int
    end: int | None
    n: int


@dataclass(frozen=True, slots=True)
class Distribution:
    """Counts in short.

    Attributes:
        n: how many there are, 1 or more.
        mean: their mean.
        min: the lowest.
        percentiles: the 10th, 25th, 50th (median), 75th, 90th and 99th, interpolated between neighbours.
        max: the highest.
        histogram: of bins of equal width; the last one takes what is far above the rest.
    """

    n: int
    mean: float
    min: int
    percentiles: dict[int, float]
    max: int
    histogram: tuple[Bin, ...]


def distribution(counts: ArrayLike) -> Distribution:
    """Return how counts are distributed.

    Args:
        counts: integers, 0 or more; at least one.
    """
    values = np.sort(np.asarray(counts, dtype=np.int64))
    found = dict(zip(PERCENTILES, np.percentile(values, PERCENTILES).tolist(), strict=True))
    low, high = int(values[0]), int(values[-1])
    return Distribution(len(values), float(values.mean()), low, found, high, _histogram(values, found[99]))


def _histogram(values: np.ndarray[tuple[int], np.dtype[np.int64]], almost_all: float) -> tuple[Bin, ...]:
    """Count sorted values in bins of a round width, of which about `_BINS` reach from the lowest to `almost_all`."""
    width = round_above((almost_all - values[0]) / _BINS)
    first = int(values[0]) // width * width
    edges = [*range(first, int(almost_all) + 1, width), None]
    bounds = [0, *np.searchsorted(values, edges[1:-1]).tolist(), len(values)]
    bins = [Bin(edges[i], edges[i + 1], bounds[i + 1] - bounds[i]) for i in range(len(edges) - 1)]
    if int(values[-1]) < bins[-1].start + width:
        bins[-1] = bins[-1]._replace(end=bins[-1].start + width)
    return tuple(bins)


def round_above(least: float) -> int:
    """Return the least of 1, 2, 5, 10, 20, 50, ... that is not below `least`."""
    scale: int = 10 ** max(0, math.floor(math.log10(max(least, 1.0))))
    return next(step * scale for step in (*_ROUND, 10) if step * scale >= least)


def shares(counts: Sequence[int]) -> list[float]:
    """Return what share of all each count is; zeros where all are 0."""
    total = sum(counts)
    return [count / total if total else 0.0 for count in counts]
