"""Means over queries with confidence intervals by the bootstrap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longrank.draws import resamples

SAMPLES, SEED = 1000, 42
"""Samples of the bootstrap, and its seed."""

_CONFIDENCE = (2.5, 97.5)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over queries with its 95% confidence interval.

    Attributes:
        mean: mean over the queries with a value; of a query, the mean over its relevant documents.
        low: 2.5th percentile of the means of bootstrap samples of queries.
        high: 97.5th percentile.
        queries: queries with a value.
    """

    mean: float
    low: float
    high: float
    queries: int


def by_query(
    values: Sequence[Mapping[str, float]], query_ids: Sequence[str], names: Sequence[str]
) -> NDArray[np.float64]:
    """Return the means over the documents of each query, float64[Q, names]; NaN without a value.

    Args:
        values: the measures of each pair.
        query_ids: the query of each pair.
        names: measures.
    """
    rows: dict[str, list[list[float]]] = {}
    for query_id, own in zip(query_ids, values, strict=True):
        rows.setdefault(query_id, []).append([own.get(name, np.nan) for name in names])
    return np.array([_means(np.array(own)) for own in rows.values()]).reshape(-1, len(names))


def _means(values: NDArray[np.float64]) -> NDArray[np.float64]:
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        means: NDArray[np.float64] = np.where(known, values, 0).sum(0) / known.sum(0)
    return means


def estimates(values: NDArray[np.float64], *, seed: int = SEED, samples: int = SAMPLES) -> list[Estimate | None]:
    """Return the mean of each column over the queries, and its confidence interval; None without a value.

    Args:
        values: float64[Q, M], a row for each query; NaN: no value.
        seed: seed of the samples, which are the same for equal numbers of queries.
        samples: number of bootstrap samples.
    """
    n, known = len(values), ~np.isnan(values)
    if not n:
        return [None] * values.shape[1]
    filled, means = np.where(known, values, 0), np.empty((samples, values.shape[1]))
    with np.errstate(invalid="ignore"):
        for sample, drawn in enumerate(resamples(n, samples, seed, "bootstrap")):
            weights = np.bincount(drawn, minlength=n).astype(np.float64)
            means[sample] = weights @ filled / (weights @ known)
    return [_estimate(values[known[:, m], m], means[:, m]) for m in range(values.shape[1])]


def _estimate(values: NDArray[np.float64], means: NDArray[np.float64]) -> Estimate | None:
    if not len(values):
        return None
    low, high = np.percentile(means[~np.isnan(means)], _CONFIDENCE).tolist()
    return Estimate(float(values.mean()), low, high, len(values))


def thirds(values: Sequence[float]) -> NDArray[np.int64]:
    """Return the third of each value, 0 to 2, int64[N]; equal values are in the same third."""
    return np.searchsorted(np.quantile(values, (1 / 3, 2 / 3)), values, side="left")
