"""Compute a document's score from the first stage and its passages, under many weights at once.

    alpha * first + (1 - alpha) * (S_1 + w2 S_2 + w3 S_3 + ...)        S_1 >= S_2 >= ... (Birch)

Without w2, any aggregator may score the passages. Where several scorers are mixed, S may depend on the weights of the
mix. Settings are mappings of alpha, w2, w3, ... and names of mixed scorers to numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from longrank.aggregation import find_aggregation, make_aggregator
from longrank.aggregation.interpolate import check_alpha
from longrank.aggregation.mixing import Mix, check_mixable, make_mix, remixed, remixed_query
from longrank.aggregation.run import aggregate_run
from longrank.errors import InputError
from longrank.evaluation.tuning.grids import Axes, Setting
from longrank.evaluation.tuning.rankings import Floats
from longrank.evaluation.tuning.reranked import Reranked
from longrank.fusion import NORMALIZERS, scaled
from longrank.protocols import Aggregator
from longrank.registries import lookup
from longrank.types import Evidence, Run

ALPHA = "alpha"
PASSAGES = tuple(f"w{n}" for n in range(2, 11))
"""Axes: weights of the second best to the tenth best passage; the best passage weighs 1."""


@dataclass(frozen=True, slots=True)
class Formula:
    """The formula of a document's score, without the weights.

    Attributes:
        n_passages: number of best passages with weights, as in ``birch``; 1: no weights, with any aggregator.
        aggregator: a name of `longrank.aggregation.AGGREGATORS`.
        normalize: scaling of the first stage and of the passages' score: ``none``, or ``minmax`` per query.
        scorers: mixed scorers, the main scorer first; empty: passage scores as written.
        mix_method: method of the mix.
    """

    n_passages: int
    aggregator: str
    normalize: str
    scorers: tuple[str, ...] = ()
    mix_method: str = "minmax"

    def about(self) -> dict[str, Any]:
        """Return the formula as JSON; without a mix, without its method."""
        mix = {"scorers": list(self.scorers), "mix_method": self.mix_method} if self.scorers else {}
        return {"n_passages": self.n_passages, "aggregator": self.aggregator, "normalize": self.normalize, **mix}

    def mix(self, setting: Setting) -> Mix | None:
        """Return the mix of a setting; None: passage scores as written."""
        if not self.scorers:
            return None
        weights = {name: setting[name] for name in self.scorers[1:] if name in setting}
        return make_mix(self.scorers, weights, self.mix_method)

    def aggregate(self, setting: Setting) -> Aggregator:
        """Return the aggregator with the weights of a setting."""
        if self.n_passages == 1:
            return make_aggregator(self.aggregator)
        weights = [1.0, *(float(setting[name]) for name in PASSAGES[: self.n_passages - 1])]
        return make_aggregator(self.aggregator, weights=weights)

    def parts(self, documents: Sequence[Evidence], aggregate: Aggregator, mix: Mix | None) -> list[list[float]]:
        """Return the passage scores to weigh of each document of a query, [D, n_passages]."""
        mixed = documents if mix is None else remixed_query(documents, mix)
        return [self._parts(evidence, aggregate) for evidence in mixed]

    def _parts(self, evidence: Evidence, aggregate: Aggregator) -> list[float]:
        """Return the best passage scores of a document, 0 for missing passages; or its aggregated score."""
        if self.n_passages == 1:
            return [aggregate(evidence)]
        best: list[float] = np.sort(evidence.passage_score)[::-1][: self.n_passages].tolist()
        return best + [0.0] * (self.n_passages - len(best))

    def scores(self, first: Floats, parts: Floats, settings: Sequence[Setting]) -> Floats:
        """Return the scores of a query's documents under several settings, [S, D].

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
            first, passages = scaled(first[None]), scaled(passages)
        scores: Floats = column(ALPHA) * first + (1 - column(ALPHA)) * passages
        return scores

    def run(self, setting: Setting, reranked: Reranked, query_ids: Sequence[str]) -> Run:
        """Return the run of some queries, as rerank and aggregate rank them with these weights."""
        chosen, first, mix = set(query_ids), reranked.first_stage, self.mix(setting)
        evidence = (evidence for evidence in reranked.evidence() if evidence.query_id in chosen)
        return aggregate_run(
            evidence if mix is None else remixed(evidence, mix),
            self.aggregate(setting),
            first_stage=Run(first.tag, (row for query_id in query_ids for row in first.get(query_id))),
            alpha=setting.get(ALPHA),
            normalize=self.normalize if ALPHA in setting else "none",
            tail="keep",
            tag="longrank",
            missing=reranked.missing,
        )


def make_formula(
    axes: Axes,
    aggregator: str | None,
    normalize: str,
    scorers: Sequence[str] = (),
    mix_method: str | None = None,
) -> Formula:
    """Return the formula whose weights a grid has.

    Args:
        axes: names are `ALPHA`, `PASSAGES` and names of `scorers` except the first.
        aggregator: aggregator for grids without weights of passages; None: ``maxp``.
        normalize: a name of `longrank.fusion.NORMALIZERS`.
        scorers: mixed scorers of the evidence, the main scorer first.
        mix_method: a name of `longrank.aggregation.mixing.METHODS`; None: ``minmax``. Without weights of a mix in the
            grid, passage scores stay as written.

    Raises:
        InputError: an alpha outside [0, 1], a passage's weight without the weight of the passage before, an aggregator
            that is unknown, needs options or is given beside weights of passages, a normalisation that is unknown
            or has no effect, or weights of a mix as of `make_mix`.
    """
    for alpha in axes.get(ALPHA, ()):
        check_alpha(float(alpha))
    lookup(NORMALIZERS, normalize, "normalisation")
    if normalize != "none" and ALPHA not in axes:
        raise InputError("`normalize` has an effect on interpolation only", got=normalize, fix="add --grid alpha=...")
    weighed = [name for name in PASSAGES if name in axes]
    for expected, name in zip(PASSAGES, weighed, strict=False):
        if expected != name:
            raise InputError(f"the grid has {name}, but not {expected}", fix=f"add --grid {expected}=...")
    if not weighed and aggregator is not None and "weights" in find_aggregation(aggregator).options:
        raise InputError(
            f"the weights of {aggregator} are learned", fix="add --grid w2=..., and leave the aggregator out"
        )
    if weighed and aggregator is not None:
        raise InputError(
            "passages with weights take no other aggregator", got=aggregator, fix="leave out w2 or the aggregator"
        )
    formula = Formula(1 + len(weighed), "birch" if weighed else aggregator or "maxp", normalize)
    if axes.keys() & {*scorers}:
        check_mixable(formula.aggregator)
        formula = replace(formula, scorers=tuple(scorers), mix_method=mix_method or "minmax")
    formula.aggregate({name: 0.0 for name in weighed})
    for extreme in (min, max):
        formula.mix({name: extreme(values) for name, values in axes.items()})
    return formula
