"""Early stopping: documents that cannot enter the top k, as far as a cheap scorer can tell, are left alone.

A cheap scorer scores every candidate. They are then read by the expensive scorer in that order, k at a
time, until the calibrated bound of the next one is below the k-th best score so far
(`longrank.ranking.bounds`). What is left alone has no evidence, and follows below in the order
of the first stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

from longrank.errors import InputError
from longrank.protocols import Aggregator, Candidate, DocumentScorer
from longrank.ranking.bounds import Bound, may_stop, walk
from longrank.ranking.calibration import Calibration, read_calibration
from longrank.ranking.settings import PipelineSettings
from longrank.storage import digest_of
from longrank.types import Evidence, Notes


class StoppingScorer:
    """A DocumentScorer that asks an expensive one only about documents that may enter the top k.

    Args:
        cheap: scores every candidate.
        expensive: scores those that are read.
        aggregator: passage scores to document score, for both.
        calibration: of these two scorers and this aggregator.
    """

    def __init__(
        self, cheap: DocumentScorer, expensive: DocumentScorer, aggregator: Aggregator, calibration: Calibration
    ) -> None:
        self._cheap, self._expensive, self._aggregator = cheap, expensive, aggregator
        self._bound, self._k = calibration.bound, calibration.k
        learned = digest_of([self._k, calibration.x, calibration.y, calibration.margin])
        self._name = f"stop(k={self._k} bound={learned[:16]} by {cheap.fingerprint})"

    @property
    def unit(self) -> str:
        """That of the expensive scorer."""
        return self._expensive.unit

    @property
    def fingerprint(self) -> str:
        """The expensive scorer's, the bound and the cheap scorer's."""
        return f"{self._expensive.fingerprint} | {self._name}"

    def cuts_query(self, query: str) -> bool:
        """Say whether the expensive scorer leaves a part of the query out."""
        return self._expensive.cuts_query(query)

    def evidence(self, block: Sequence[Candidate]) -> list[Evidence | None]:
        """Return the evidence of what was read; None for each candidate that was left alone."""
        found: list[Evidence | None] = [None] * len(block)
        going = self._walks(block)
        while going:
            wanted = [n for one in going for n in one.next(self._k)]
            for n, evidence in zip(wanted, self._expensive.evidence([block[n] for n in wanted]), strict=True):
                found[n] = evidence
            for one in going:
                one.scores += [self._aggregator(read) for n in one.taken if (read := found[n]) is not None]
            going = [one for one in going if not one.stops(self._k)]
        return found

    def _walks(self, block: Sequence[Candidate]) -> list[_Walk]:
        cheap = [self._aggregator(one) for one in self._cheap.evidence(block) if one is not None]
        walks = []
        for _, group in groupby(range(len(block)), key=lambda n: block[n].query.query_id):
            places = list(group)
            order = walk([block[n].document.doc_id for n in places], [cheap[n] for n in places])
            walks.append(_Walk([places[n] for n in order], [cheap[places[n]] for n in order], self._bound))
        return walks


class _Walk:
    """How far the candidates of one query have been read; `places` are their positions in the block."""

    def __init__(self, places: Sequence[int], cheap: Sequence[float], bound: Bound) -> None:
        self._places, self._bounds = places, bound.of(np.array(cheap)).tolist()
        self.taken: Sequence[int] = ()
        self.scores: list[float] = []

    def next(self, k: int) -> Sequence[int]:
        """Take the next `k`."""
        done = len(self.scores)
        self.taken = self._places[done : done + k]
        return self.taken

    def stops(self, k: int) -> bool:
        """Say whether all are read, or none of the others can enter the top k."""
        done = len(self.scores)
        return done == len(self._places) or may_stop(self.scores, self._bounds[done], k)


def open_stopping(
    cheap: DocumentScorer, expensive: DocumentScorer, aggregator: Aggregator, settings: PipelineSettings, notes: Notes
) -> StoppingScorer:
    """Bind the calibration that a pipeline names to its scorers; says what it saves and risks.

    Raises:
        InputError: the calibration cannot be read or was learned from others than these scorers and this
            aggregator, or a setting of the pipeline makes its bound mean nothing.
    """
    assert settings.stop is not None
    path = Path(settings.stop.calibration)
    if settings.final.interpolate is not None:
        raise InputError(
            "stop bounds the passages' score alone", got="final.interpolate", fix="leave one of the two out"
        )
    for name, value in (("per_query", settings.select.per_query), ("pooled", settings.select.pooled or None)):
        if value is not None:
            raise InputError(
                "stop reads some documents of a query before others",
                got=f"select.{name}",
                fix="use select.n with select.pooled=false",
            )
    calibration = read_calibration(path)
    for what, learned, ours in (
        ("cheap scorer", calibration.cheap, cheap.fingerprint),
        ("scorer", calibration.expensive, expensive.fingerprint),
        ("aggregation", {"name": calibration.aggregator}, settings.aggregate.model_dump(exclude_none=True)),
    ):
        if learned != ours:
            fix = f"calibrate with evidence of this pipeline: {ours}"
            raise InputError(f"was learned from another {what}", path=path, got=learned, fix=fix)
    notes.say(f"early stopping: {calibration.summary}")
    return StoppingScorer(cheap, expensive, aggregator, calibration)
