"""The score of a network that aggregates passages inside itself (PARADE, KNRM, CEDR)."""

from __future__ import annotations

from longrank.errors import InputError
from longrank.types import Evidence


def document(evidence: Evidence) -> float:
    """Return the network's own document score.

    Raises:
        InputError: the evidence holds none.
    """
    if evidence.document_score is None:
        raise InputError(
            "the evidence holds no document scores: its scorer reads passages one by one",
            fix="choose an aggregator of passage scores, e.g. maxp",
        )
    return evidence.document_score
