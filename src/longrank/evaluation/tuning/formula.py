"""How the first stage and a document's passages make its score, under many weights at once.

    alpha * first + (1 - alpha) * (S_1 + w2 S_2 + w3 S_3 + ...)        S_1 >= S_2 >= ... (Birch)

Without w2, any aggregator may stand for the passages. Settings are mappings of alpha, w2, w3, ... to numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longrank.aggregation import find_aggregation, make_aggregator
from longrank.aggregation.interpolate import check_alpha
from longrank.aggregation.run import aggregate_run
from longrank.config import lookup
from longrank.errors import InputError
from longrank.evaluation.tuning.grids import Axes, Setting
from longrank.evaluation.tuning.rankings import Floats
from longrank.evaluation.tuning.reranked import Reranked
from longrank.fusion import NORMALIZERS
from longrank.protocols import Aggregator
from longrank.types import Evidence, Run

ALPHA = "alpha"
PASSAGES = tuple(f"w{n}" for n in range(2, 11))
"""Axes: the weights of the second best to the tenth best passage; that of the best is 1."""


@dataclass(frozen=True, slots=True)
class Formula:
    """How a document's score is made, but for the weights.

    Attributes:
        n_passages: how many of the best passages are weighed, as ``birch`` does; 1: none is, whatever the aggregator.
        aggregator: a name of `longrank.aggregation.AGGREGATORS`.
        normalize: ``none``, or ``minmax`` per query: of the first stage and of the passages' score.
    """

    n_passages: int
    aggregator: str
    normalize: str

    def aggregate(self, setting: Setting) -> Aggregator:
        """Return what makes one score of the passages."""
        if self.n_passages == 1:
            return make_aggregator(self.aggregator)
        weights = [1.0, *(float(setting[name]) for name in PASSAGES[: self.n_passages - 1])]
        return make_aggregator(self.aggregator, weights=weights)

    def parts(self, evidence: Evidence, aggregate: Aggregator) -> list[float]:
        """Return the best scores of a document, 0 where there are fewer passages; or the one score they come to."""
        if self.n_passages == 1:
            return [aggregate(evidence)]
        best: list[float] = np.sort(evidence.passage_score)[::-1][: self.n_passages].tolist()
        return best + [0.0] * (self.n_passages - len(best))

    def scores(self, first: Floats, parts: Floats, settings: Sequence[Setting]) -> Floats:
        """Return the scores of a query's documents under some settings, [S, D].

        Args:
            first: [D].
            parts: [D, n_passages].
            settings: S.
        """

        def column(name: str) -> Floats:
            return np.array([setting.get(name, 0.0) for setting in settings])[:, None]

        passages = np.repeat(parts[None, :, 0], len(settings), axis=0)
        for n in range(1, self.n_passages):
            passages += column(PASSAGES[n - 1]) * parts[:, n]
        if self.normalize == "minmax":
            first, passages = _minmax(first[None]), _minmax(passages)
        mixed: Floats = column(ALPHA) * first + (1 - column(ALPHA)) * passages
        return mixed

    def run(self, setting: Setting, reranked: Reranked, query_ids: Sequence[str]) -> Run:
        """Return some queries as rerank and aggregate rank them with these weights, other documents below."""
        wanted, first = set(query_ids), reranked.first_stage
        return aggregate_run(
            (one for one in reranked.evidence() if one.query_id in wanted),
            self.aggregate(setting),
            first_stage=Run(first.tag, (row for query_id in query_ids for row in first.get(query_id))),
            alpha=setting.get(ALPHA),
            normalize=self.normalize if ALPHA in setting else "none",
            tail="keep",
            tag="longrank",
            last=reranked.last,
        )


def make_formula(axes: Axes, aggregator: str | None, normalize: str) -> Formula:
    """Return the formula whose weights a grid has.

    Args:
        axes: of the names `ALPHA` and `PASSAGES`.
        aggregator: for grids without weights of passages; None: ``maxp``.
        normalize: one of `longrank.fusion.NORMALIZERS`.

    Raises:
        InputError: an alpha outside [0, 1], a passage's weight without that of the one before, an unknown aggregator
            or one that needs options or is given beside weights of passages, an unknown normalisation, or one that
            has no effect.
    """
    for alpha in axes.get(ALPHA, ()):
        check_alpha(float(alpha))
    lookup(NORMALIZERS, normalize, "normalisation")
    if normalize != "none" and ALPHA not in axes:
        raise InputError("normalisation has an effect on interpolation only", got=normalize, fix="add --grid alpha=...")
    weighed = [name for name in PASSAGES if name in axes]
    for expected, found in zip(PASSAGES, weighed, strict=False):
        if expected != found:
            raise InputError(f"the grid has {found}, but not {expected}", fix=f"add --grid {expected}=...")
    if not weighed and aggregator is not None and "weights" in find_aggregation(aggregator).options:
        raise InputError(
            f"{aggregator}'s weights are what is learned", fix="add --grid w2=..., and leave the aggregator out"
        )
    if weighed and aggregator is not None:
        raise InputError("passages with weights take no other aggregator", got=aggregator, fix="leave one of them out")
    formula = Formula(1 + len(weighed), "birch" if weighed else aggregator or "maxp", normalize)
    formula.aggregate({name: 0.0 for name in weighed})
    return formula


def _minmax(scores: Floats) -> Floats:
    """Scale rows to [0, 1], as `longrank.fusion.minmax` does: where all are equal, all become 1."""
    if not scores.shape[1]:
        return scores
    low, high = scores.min(axis=1, keepdims=True), scores.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.where(low == high, 1.0, (scores - low) / (high - low))
