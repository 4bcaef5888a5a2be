"""Similarity of two rankings: Kendall's tau, rank-biased overlap, overlap of the first k.

tau      of the documents that both rank: 1 the same order, -1 the opposite order, None with fewer than two
RBO      Webber, Moffat and Zobel (TOIS 2010): overlap at every depth, each next depth weighted by the factor p;
         extrapolated to endless rankings (their equation 32). 1 equal, 0 nothing in common
overlap  common documents among the first k / k; k is at most the length of the longer ranking
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.types import Run

MEASURES = ("tau", "rbo", "overlap")


@dataclass(frozen=True, slots=True)
class Agreement:
    """Similarity of two runs.

    Attributes:
        one: name of a run.
        other: name of the other run.
        queries: number of queries that both runs have; other queries do not count.
        means: name of `MEASURES` -> mean over the queries with a value; None without one.
        per_query: query_id -> name -> value.
    """

    one: str
    other: str
    queries: int
    means: Mapping[str, float | None]
    per_query: Mapping[str, Mapping[str, float | None]]


def agreements(runs: Mapping[str, Run], *, k: int = 10, p: float = 0.9, depth: int | None = None) -> list[Agreement]:
    """Return the similarity of each pair of runs.

    Args:
        runs: name -> run, two or more.
        k: documents that the overlap compares, at least 1.
        p: weight of each next rank in RBO, above 0 and below 1; with .9 the first ten ranks have 86% of the weight.
        depth: ranks that tau and RBO compare; None: all.

    Raises:
        InputError: fewer than two runs, an option out of range, or two runs without a common query.
    """
    if len(runs) < 2:
        raise InputError("agreement needs two runs or more", got=len(runs))
    if k < 1 or (depth is not None and depth < 1):
        raise InputError("k and depth must be at least 1", got=k if k < 1 else depth)
    check_p(p)
    measures: dict[str, Callable[[Sequence[str], Sequence[str]], float | None]] = {
        "tau": lambda a, b: tau(a[:depth], b[:depth]),
        "rbo": lambda a, b: rbo(a[:depth], b[:depth], p),
        "overlap": lambda a, b: overlap(a, b, k),
    }
    return [_agreement(one, other, runs, measures) for one, other in combinations(runs, 2)]


def _agreement(
    one: str,
    other: str,
    runs: Mapping[str, Run],
    measures: Mapping[str, Callable[[Sequence[str], Sequence[str]], float | None]],
) -> Agreement:
    common = [query_id for query_id in runs[one] if query_id in runs[other]]
    if not common:
        raise InputError(
            f"runs {one} and {other} have no query in common", about=("runs",), fix="compare their query ids"
        )
    per_query = {}
    for query_id in common:
        a, b = ([row.doc_id for row in runs[name][query_id]] for name in (one, other))
        per_query[query_id] = {name: measure(a, b) for name, measure in measures.items()}
    means = {name: _mean([values[name] for values in per_query.values()]) for name in measures}
    return Agreement(one, other, len(common), means, per_query)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def matrix(names: Sequence[str], pairs: Sequence[Agreement], measure: str) -> NDArray[np.float64]:
    """Return the means of a measure for all pairs of runs, float64[n, n]: 1 on the diagonal, NaN without a mean."""
    place = {name: n for n, name in enumerate(names)}
    values = np.eye(len(names))
    for pair in pairs:
        mean = pair.means[measure]
        one, other = place[pair.one], place[pair.other]
        values[one, other] = values[other, one] = np.nan if mean is None else mean
    return values


def tau(first: Sequence[str], second: Sequence[str]) -> float | None:
    """Return Kendall's tau of the documents that two rankings share, -1 to 1; None with fewer than two.

    Args:
        first: documents, best first, each once.
        second: documents of the other ranking.
    """
    from scipy.stats import kendalltau

    place = {doc_id: rank for rank, doc_id in enumerate(second)}
    shared = [place[doc_id] for doc_id in first if doc_id in place]
    return float(kendalltau(range(len(shared)), shared).statistic) if len(shared) > 1 else None


def rbo(first: Sequence[str], second: Sequence[str], p: float = 0.9) -> float:
    """Return the extrapolated rank-biased overlap of two rankings without ties, 0 to 1.

    Args:
        first: documents, best first, each once; at least one.
        second: documents of the other ranking, of any length.
        p: weight of each next rank, above 0 and below 1.

    Raises:
        InputError: `p` is out of range.
    """
    check_p(p)
    short, long = sorted((first, second), key=len)
    s, n = len(short), len(long)
    seen: set[str] = set()
    common, at_s, total = 0, 0, 0.0
    for depth, doc_id in enumerate(long, 1):
        new = {doc_id, short[depth - 1]} if depth <= s else {doc_id}
        for each in new:
            common += each in seen
        common += depth <= s and len(new) == 1
        seen |= new
        if depth == s:
            at_s = common
        beyond = at_s * (depth - s) / (s * depth) if depth > s else 0.0
        total += (common / depth + beyond) * p**depth
    return (1 - p) / p * total + ((common - at_s) / n + at_s / s) * p**n


def overlap(first: Sequence[str], second: Sequence[str], k: int = 10) -> float:
    """Return the share of the first `k` documents that two rankings have in common, 0 to 1."""
    return len({*first[:k]} & {*second[:k]}) / min(k, max(len(first), len(second)))


def check_p(p: float) -> None:
    """Refuse a factor of RBO that is out of range.

    Raises:
        InputError: `p` is not above 0 and below 1.
    """
    if not 0 < p < 1:
        raise InputError("p of rank-biased overlap must be above 0 and below 1", got=p)
