"""Fuse runs, and normalise scores. Sums are float64; a `Run` keeps float32.

    rrf      reciprocal rank fusion (Cormack, Clarke and Buettcher 2009): sum of 1 / (k + rank)
    linear   weighted sum of scores, raw or min-max normalised per query
    mapfuse  MAPFuse (Lillis et al. 2010; Santos et al. use it): sum of MAP / rank

Every method returns the union of the documents. A query or document that a run lacks has 0 there; in `linear`
less, if the run has scores below 0. Ranks count from 1 in the order of `Run`. The order of the runs does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError
from longrank.registries import checked_options, lookup
from longrank.types import Run, ScoredDoc

Scores: TypeAlias = Mapping[str, float]
"""doc_id -> score, for one query."""


class Part(NamedTuple):
    """Scores that a run adds for a query: for its documents, and for documents that it lacks."""

    scores: Scores
    lacking: float = 0.0


RRF_K = 60.0

_LARGEST = float(np.finfo(np.float32).max)


def rrf(runs: Sequence[Run], *, tag: str, k: float = RRF_K) -> Run:
    """Fuse by reciprocal ranks: sum over the runs of 1 / (k + rank).

    Raises:
        InputError: fewer than two runs, or k is not 0 or more.
    """
    if not (math.isfinite(k) and k >= 0):
        raise InputError("k of reciprocal rank fusion must be at least 0", got=k)
    return _fused(runs, tag, lambda _, ranking: Part({d.doc_id: 1 / (k + rank) for rank, d in enumerate(ranking, 1)}))


def linear(runs: Sequence[Run], *, tag: str, weights: Sequence[float] | None = None, normalize: str = "none") -> Run:
    """Fuse by the weighted sum of scores.

    Args:
        runs: two or more.
        tag: tag of the new run.
        weights: a weight for each run; default 1.
        normalize: a name of `NORMALIZERS`. After ``minmax``, a document that a run lacks has 0, the minimum of the
            query. Without it, the document has 0, or the minimum if that is lower (logits, log-probabilities): never
            more than a document of the run.

    Raises:
        InputError: fewer than two runs, another number of weights, only zeros, a weight or a sum beyond float32, or an
            unknown normalisation.
    """
    scale = lookup(NORMALIZERS, normalize, "normalisation")
    each = [1.0] * len(runs) if weights is None else _for_each(runs, weights, "weight")
    if not any(each):
        raise InputError("all weights are 0", got=weights)

    def part(run: int, ranking: Sequence[ScoredDoc]) -> Part:
        scores, weight = scale({row.doc_id: row.score for row in ranking}), each[run]
        weighted = {doc_id: weight * score for doc_id, score in scores.items()}
        return Part(weighted, weight * min(0.0, min(scores.values(), default=0.0)))

    return _fused(runs, tag, part)


def mapfuse(runs: Sequence[Run], *, tag: str, maps: Sequence[float]) -> Run:
    """Fuse by MAP-weighted reciprocal ranks: sum over the runs of MAP / rank.

    Args:
        runs: two or more.
        tag: tag of the new run.
        maps: mean average precision of each run's system on other queries, 0 to 1.

    Raises:
        InputError: fewer than two runs, another number of MAPs, a MAP outside [0, 1], or MAPs that are all 0.
    """
    each = _for_each(runs, maps, "MAP")
    for value in each:
        if not 0 <= value <= 1:
            raise InputError("a MAP must be between 0 and 1", got=value)
    if not any(each):
        raise InputError("all MAPs are 0, so all documents would have equal scores")
    return _fused(runs, tag, lambda run, ranking: Part({d.doc_id: each[run] / r for r, d in enumerate(ranking, 1)}))


FUSIONS: dict[str, Callable[..., Run]] = {"rrf": rrf, "linear": linear, "mapfuse": mapfuse}
"""name -> function of runs; keyword-only parameters other than `tag` are its options."""


def make_fusion(method: str, **options: object) -> Callable[..., Run]:
    """Return a fusion with its options; an option that is None is not given.

    Raises:
        InputError: an unknown method, or an option of another method.
    """
    function, given = lookup(FUSIONS, method, "fusion method"), {k: v for k, v in options.items() if v is not None}
    return partial(function, **checked_options(function, f"fusion method '{method}'", given))


def minmax(scores: Scores) -> dict[str, float]:
    """Scale scores to [0, 1] by (s - min) / (max - min); equal scores become 1, as in Anserini."""
    return dict(zip(scores, scaled(np.array([*scores.values()], np.float64)).tolist(), strict=True))


def scaled(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale each row of scores, [..., N], as `minmax` does."""
    if not scores.shape[-1]:
        return scores
    low, high = scores.min(axis=-1, keepdims=True), scores.max(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.where(low == high, 1.0, (scores - low) / (high - low))


def reciprocal_ranks(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return 1 / (60 + rank) of each of N scores; the best has rank 1, and equal scores have equal ranks."""
    ranks = 1 + len(scores) - np.searchsorted(np.sort(scores), scores, side="right")
    return 1 / (RRF_K + ranks)


NORMALIZERS: dict[str, Callable[[Scores], Scores]] = {"none": dict, "minmax": minmax}
"""Per-query normalisations by name."""


def add(parts: Sequence[Scores], lacking: Sequence[float] | None = None) -> dict[str, float]:
    """Sum the scores of each document of the union; exactly rounded, so the order of `parts` does not matter.

    Args:
        parts: scores to add.
        lacking: for each part, the score of a document that it lacks; default 0.
    """
    documents = dict.fromkeys(doc_id for part in parts for doc_id in part)
    each = list(zip(parts, lacking or [0.0] * len(parts), strict=True))
    return {doc_id: math.fsum(part.get(doc_id, absent) for part, absent in each) for doc_id in documents}


def _fused(runs: Sequence[Run], tag: str, part: Callable[[int, Sequence[ScoredDoc]], Part]) -> Run:
    """Add the scores of all runs; ``part(i, ranking)`` returns those of the i-th run for a query."""
    if len(runs) < 2:
        raise InputError("fusion needs two runs or more", got=len(runs))

    def rows() -> Iterator[ScoredDoc]:
        for query_id in dict.fromkeys(query_id for run in runs for query_id in run):
            parts = [part(number, run.get(query_id)) for number, run in enumerate(runs)]
            scores = add([each.scores for each in parts], [each.lacking for each in parts])
            for doc_id, score in scores.items():
                if abs(score) > _LARGEST:
                    fault = f"fused score of document {doc_id!r} for query {query_id!r} is beyond float32"
                    raise InputError(fault, got=score, fix="give smaller weights, or normalise")
                yield ScoredDoc(query_id, doc_id, score)

    return Run(tag, rows())


def _for_each(runs: Sequence[Run], values: Sequence[float], noun: str) -> list[float]:
    if len(values) != len(runs):
        raise InputError(f"{len(values)} {noun}s for {len(runs)} runs", fix="give one for each run, in the same order")
    for value in values:
        if not abs(value) <= _LARGEST:
            raise InputError(f"a {noun} must be a finite float32 number", got=value)
    return list(values)
