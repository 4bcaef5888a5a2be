"""Score of a network that aggregates passages itself (PARADE, KNRM, CEDR)."""

from __future__ import annotations

from longrank.errors import InputError
from longrank.types import Evidence


def document(evidence: Evidence) -> float:
    """Return the network's own document score.

    Raises:
        InputError: the evidence holds no document score.
    """
    if evidence.document_score is None:
        raise InputError(
            "the evidence holds no document scores, only passage scores",
            about=("evidence",),
            fix="choose an aggregator of passage scores, e.g. maxp",
        )
    return evidence.document_score
