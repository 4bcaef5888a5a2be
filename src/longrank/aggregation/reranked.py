"""Whether a first stage is the run that was reranked: evidence holds the scores that its documents had there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from longrank.types import Evidence, Notes, Run

_RELATIVE, _ABSOLUTE = 2e-7, 1e-6  # two units of a float32; run files have six decimals


def comparing_first_stage(evidence: Iterable[Evidence], first_stage: Run, notes: Notes) -> Iterator[Evidence]:
    """Pass evidence on and count the documents that `first_stage` scores otherwise than the run that was reranked.

    Another run of the same documents is a choice (interpolate with another first stage) or a mistake (the file of
    another experiment); weights, depths and figures are of the run that is given. Documents that it lacks are not
    counted, nor are those whose first score is not known (NaN).
    """
    query_id, scores = None, dict[str, float]()
    for one in evidence:
        if one.query_id != query_id:
            query_id, scores = one.query_id, {row.doc_id: row.score for row in first_stage.get(one.query_id)}
        given = scores.get(one.doc_id, math.nan)
        if abs(given - one.first_stage) > max(_ABSOLUTE, _RELATIVE * abs(one.first_stage)):
            where = f"query {one.query_id}, {one.doc_id}: {one.first_stage:.6g} then, {given:.6g} here"
            notes.add("documents scored otherwise by this first stage than by the run that was reranked", where)
        yield one
