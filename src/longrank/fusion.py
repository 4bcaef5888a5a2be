"""Fusion of runs, and score normalisation. Sums are made in float64; a `Run` keeps float32.

    rrf      reciprocal rank fusion (Cormack, Clarke and Buettcher 2009): sum of 1 / (k + rank)
    linear   weighted sum of scores, raw or min-max normalised per query
    mapfuse  MAPFuse (Lillis et al. 2010; Santos et al. use it): sum of MAP / rank

Every method returns the union of the documents; a run gives nothing to a query or document that it
lacks, unless it scores below 0 those that it has (`linear`). Ranks count from 1 in the order of `Run`. The order in
which runs are given changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from inspect import signature
from typing import NamedTuple, TypeAlias

import numpy as np

from longrank.config import lookup
from longrank.errors import InputError
from longrank.types import Run, ScoredDoc

Scores: TypeAlias = Mapping[str, float]
"""doc_id -> score, for one query."""


class Part(NamedTuple):
    """What a run gives to each of its documents of a query, and to those that it lacks."""

    given: Scores
    lacking: float = 0.0


RRF_K = 60.0

_LARGEST = float(np.finfo(np.float32).max)


def rrf(runs: Sequence[Run], *, tag: str, k: float = RRF_K) -> Run:
    """Fuse by reciprocal ranks: sum over the runs of 1 / (k + rank).

    Raises:
        InputError: fewer than two runs, or k is not 0 or more.
    """
    if not (math.isfinite(k) and k >= 0):
        raise InputError("k of reciprocal rank fusion is 0 or more", got=k)
    return _fused(runs, tag, lambda _, ranking: Part({d.doc_id: 1 / (k + rank) for rank, d in enumerate(ranking, 1)}))


def linear(runs: Sequence[Run], *, tag: str, weights: Sequence[float] | None = None, normalize: str = "none") -> Run:
    """Fuse by the weighted sum of scores.

    Args:
        runs: two or more.
        tag: of the new run.
        weights: one for each run; all 1 if not given.
        normalize: one of `NORMALIZERS`. After ``minmax`` a document that a run lacks has that run's
            minimum of the query, which is 0; of raw scores it has 0, or the minimum where that is less (logits,
            log-probabilities), so that it is never better than what the run returned.

    Raises:
        InputError: fewer than two runs, another number of weights, only zeros, a weight or a sum that float32 does
            not hold, or an unknown normalisation.
    """
    scale = lookup(NORMALIZERS, normalize, "normalisation")
    each = [1.0] * len(runs) if weights is None else _one_each(runs, weights, "weight")
    if not any(each):
        raise InputError("all weights are 0: no document would be before another", got=weights)

    def part(which: int, ranking: Sequence[ScoredDoc]) -> Part:
        scores, weight = scale({row.doc_id: row.score for row in ranking}), each[which]
        given = {doc_id: weight * score for doc_id, score in scores.items()}
        return Part(given, weight * min(0.0, min(scores.values(), default=0.0)))

    return _fused(runs, tag, part)


def mapfuse(runs: Sequence[Run], *, tag: str, maps: Sequence[float]) -> Run:
    """Fuse by MAP-weighted reciprocal ranks: sum over the runs of MAP / rank.

    Args:
        runs: two or more.
        tag: of the new run.
        maps: the mean average precision of each run's system on other queries than these, in [0, 1].

    Raises:
        InputError: fewer than two runs, another number of MAPs, or a MAP outside [0, 1].
    """
    each = _one_each(runs, maps, "MAP")
    for value in each:
        if not 0 <= value <= 1:
            raise InputError("a MAP lies between 0 and 1", got=value)
    return _fused(runs, tag, lambda which, ranking: Part({d.doc_id: each[which] / r for r, d in enumerate(ranking, 1)}))


FUSIONS: dict[str, Callable[..., Run]] = {"rrf": rrf, "linear": linear, "mapfuse": mapfuse}
"""name -> function of runs; keyword-only parameters other than `tag` are its options."""


def make_fusion(method: str, **options: object) -> Callable[..., Run]:
    """Return a fusion with its options; an option that is None is not given.

    Raises:
        InputError: an unknown method, or an option of another method.
    """
    function, given = lookup(FUSIONS, method, "fusion method"), {k: v for k, v in options.items() if v is not None}
    names = [name for name, p in signature(function).parameters.items() if p.kind is p.KEYWORD_ONLY and name != "tag"]
    for name in given:
        if name not in names:
            raise InputError(f"fusion method '{method}' takes no {name}", fix=f"it takes {', '.join(names)}")
    return partial(function, **given)


def minmax(scores: Scores) -> dict[str, float]:
    """Scale scores to [0, 1] by (s - min) / (max - min); where all are equal, all become 1, as in Anserini."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if low == high:
        return dict.fromkeys(scores, 1.0)
    return {doc_id: (score - low) / (high - low) for doc_id, score in scores.items()}


NORMALIZERS: dict[str, Callable[[Scores], Scores]] = {"none": dict, "minmax": minmax}
"""Per-query normalisations by name."""


def add(parts: Sequence[Scores], lacking: Sequence[float] | None = None) -> dict[str, float]:
    """Sum the scores of each document of the union; exactly rounded, so the order of `parts` does not matter.

    Args:
        parts: what is added.
        lacking: for each of them, what counts for a document that it lacks; 0 if not given.
    """
    documents = dict.fromkeys(doc_id for part in parts for doc_id in part)
    each = list(zip(parts, lacking or [0.0] * len(parts), strict=True))
    return {doc_id: math.fsum(part.get(doc_id, other) for part, other in each) for doc_id in documents}


def _fused(runs: Sequence[Run], tag: str, part: Callable[[int, Sequence[ScoredDoc]], Part]) -> Run:
    """Add what each run gives to each document; ``part(i, ranking)`` says it for the i-th run and one query."""
    if len(runs) < 2:
        raise InputError("fusion needs two runs or more", got=len(runs))

    def rows() -> Iterator[ScoredDoc]:
        for query_id in dict.fromkeys(query_id for run in runs for query_id in run):
            parts = [part(which, run.get(query_id)) for which, run in enumerate(runs)]
            found = add([one.given for one in parts], [one.lacking for one in parts])
            for doc_id, score in found.items():
                if abs(score) > _LARGEST:
                    what = f"fused score of document {doc_id!r} for query {query_id!r} is beyond float32"
                    raise InputError(what, got=score, fix="give smaller weights, or normalise")
                yield ScoredDoc(query_id, doc_id, score)

    return Run(tag, rows())


def _one_each(runs: Sequence[Run], values: Sequence[float], what: str) -> list[float]:
    if len(values) != len(runs):
        raise InputError(f"{len(values)} {what}s for {len(runs)} runs", fix="give one for each run, in their order")
    for value in values:
        if not abs(value) <= _LARGEST:
            raise InputError(f"a {what} must be a finite number of float32", got=value)
    return list(values)
