"""Early stopping: skip candidates that, by a cheap scorer's bound, cannot enter the top k.

A cheap scorer scores every candidate. The expensive scorer then scores them in that order, k at a time, until the
calibrated bound of the next candidate is below the k-th best score so far (`longrank.ranking.bounds`). Skipped
candidates have no evidence, and follow below in first-stage order.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import groupby
from pathlib import Path

import numpy as np

from longrank.errors import InputError
from longrank.protocols import Aggregator, Candidate, DocumentScorer
from longrank.ranking.bounds import Bound, may_stop
from longrank.ranking.bounds import walk as in_order
from longrank.ranking.calibration import Calibration, read_calibration
from longrank.ranking.settings import PipelineSettings
from longrank.scoring.score_cache import CACHED
from longrank.storage import digest_of
from longrank.types import Evidence, Notes


class StoppingScorer:
    """A DocumentScorer that calls an expensive scorer only for documents that may enter the top k.

    Args:
        cheap: scores every candidate.
        expensive: scores the candidates that are not skipped.
        aggregator: aggregator of both scorers.
        calibration: calibration of these scorers and this aggregator.

    Attributes:
        scorers: both scorers.
    """

    def __init__(
        self, cheap: DocumentScorer, expensive: DocumentScorer, aggregator: Aggregator, calibration: Calibration
    ) -> None:
        self._cheap, self.expensive, self._aggregator = cheap, expensive, aggregator
        self.scorers = (expensive, cheap)
        self._bound, self._k, self._depth = calibration.bound, calibration.k, calibration.depth
        learned = digest_of([self._k, calibration.x, calibration.y, calibration.margin])
        self._name = f"stop(k={self._k} bound={learned[:16]} by {cheap.fingerprint})"

    @property
    def unit(self) -> str:
        """Unit of the expensive scorer."""
        return self.expensive.unit

    @property
    def fingerprint(self) -> str:
        """Fingerprints of the expensive scorer, the bound and the cheap scorer."""
        return f"{self.expensive.fingerprint} | {self._name}"

    def cuts_query(self, query: str) -> bool:
        """Tell whether a scorer truncates the query."""
        return any(scorer.cuts_query(query) for scorer in self.scorers)

    def noting(self, notes: Notes) -> StoppingScorer:
        """Return this scorer with other notes of the expensive scorer."""
        other, noting = copy(self), getattr(self.expensive, "noting", None)
        if noting is not None:
            other.expensive = noting(notes)
        return other

    def evidence(self, block: Sequence[Candidate]) -> list[Evidence | None]:
        """Return the evidence of each candidate; None if the candidate was skipped."""
        result: list[Evidence | None] = [None] * len(block)
        walks = self._walks(block)
        while walks:
            places = [n for walk in walks for n in walk.next(self._k)]
            for n, evidence in zip(places, self.expensive.evidence([block[n] for n in places]), strict=True):
                result[n] = evidence
            for walk in walks:
                walk.scores += [self._aggregator(document) for n in walk.taken if (document := result[n]) is not None]
            walks = [walk for walk in walks if not walk.stops(self._k)]
        return result

    def _walks(self, block: Sequence[Candidate]) -> list[_Walk]:
        cheap = [self._aggregator(document) for document in self._cheap.evidence(block) if document is not None]
        walks = []
        for _, group in groupby(range(len(block)), key=lambda n: block[n].query.query_id):
            places = list(group)
            if self._depth and len(places) > self._depth:
                raise InputError(
                    f"the calibration was learned on at most {self._depth} candidates of a query",
                    got=len(places),
                    fix=f"rerank to depth {self._depth}, or calibrate at this depth",
                )
            order = in_order([block[n].document.doc_id for n in places], [cheap[n] for n in places])
            walks.append(_Walk([places[n] for n in order], [cheap[places[n]] for n in order], self._bound))
        return walks


class _Walk:
    """Progress of the expensive scorer through one query's candidates; `places` are their positions in the block."""

    def __init__(self, places: Sequence[int], cheap: Sequence[float], bound: Bound) -> None:
        self._places, self._bounds = places, bound.of(np.array(cheap)).tolist()
        self.taken: Sequence[int] = ()
        self.scores: list[float] = []

    def next(self, k: int) -> Sequence[int]:
        """Take the next `k` candidates."""
        done = len(self.scores)
        self.taken = self._places[done : done + k]
        return self.taken

    def stops(self, k: int) -> bool:
        """Tell whether no remaining candidate can enter the top k."""
        done = len(self.scores)
        return done == len(self._places) or may_stop(self.scores, self._bounds[done], k)


def _uncached(fingerprint: str) -> str:
    """Return a fingerprint without the mark of a score cache, which can change only the last bits of a score."""
    return fingerprint.replace(CACHED, "")


def open_stopping(
    cheap: DocumentScorer, expensive: DocumentScorer, aggregator: Aggregator, settings: PipelineSettings, notes: Notes
) -> StoppingScorer:
    """Bind a pipeline's calibration to its scorers; a note states its savings and cost.

    Raises:
        InputError: the calibration cannot be read or is of another scorer or aggregator, or a setting of the
            pipeline invalidates its bound.
    """
    assert settings.stop is not None
    path = Path(settings.stop.calibration)
    if settings.final.interpolate is not None:
        raise InputError(
            "early stopping allows no interpolation", got="final.interpolate", fix="remove [stop] or final.interpolate"
        )
    for name, value in (("per_query", settings.select.per_query), ("pooled", settings.select.pooled or None)):
        if value is not None:
            raise InputError(
                "early stopping needs a budget per document",
                got=f"select.{name}",
                fix="use select.n with select.pooled=false",
            )
    calibration = read_calibration(path)
    for kind, learned, actual in (
        ("cheap scorer", _uncached(calibration.cheap), _uncached(cheap.fingerprint)),
        ("scorer", _uncached(calibration.expensive), _uncached(expensive.fingerprint)),
        ("aggregator", {"name": calibration.aggregator}, settings.aggregate.model_dump(exclude_none=True)),
    ):
        if learned != actual:
            fix = f"calibrate with evidence of this pipeline: {actual}"
            raise InputError(f"was learned from another {kind}", path=path, got=learned, fix=fix)
    notes.say(f"early stopping: {calibration.summary}")
    if not calibration.depth:
        notes.say(
            "the calibration does not tell its depth: its bound holds for no more candidates than it was learned on"
        )
    return StoppingScorer(cheap, expensive, aggregator, calibration)
