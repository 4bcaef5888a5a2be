"""Residual evaluation: documents that were judged before are no longer asked for, nor in the judgments.

TREC-COVID was evaluated so (Voorhees et al., 2020): in each round, a run is ranked without the documents that earlier
rounds judged for the same topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from longrank.errors import InputError
from longrank.types import Qrels, Run

Judged = Mapping[str, Set[str]]
"""query_id -> doc_ids."""


def judged_documents(qrels: Iterable[Qrels]) -> Judged:
    """Return the documents that any of several judgments has for each query; a negative grade is no judgment."""
    judged: dict[str, set[str]] = {}
    for one in qrels:
        for query_id, grades in one.items():
            judged.setdefault(query_id, set()).update(doc_id for doc_id, grade in grades.items() if grade >= 0)
    return judged


def residual_qrels(qrels: Qrels, before: Judged) -> Qrels:
    """Return judgments without the documents judged before; a query that keeps none is left out.

    Raises:
        InputError: none is left.
    """
    left = {query_id: _without(grades, before.get(query_id, frozenset())) for query_id, grades in qrels.items()}
    found = {query_id: grades for query_id, grades in left.items() if grades}
    if qrels and not found:
        raise InputError("every judged document was judged before", fix="are they the same judgments?")
    return found


def residual_run(run: Run, before: Judged) -> Run:
    """Return a run without the documents judged before; those below them move up."""
    nothing: Set[str] = frozenset()
    return Run(run.tag, (row for row in run.rows() if row.doc_id not in before.get(row.query_id, nothing)))


def _without(grades: Mapping[str, int], doc_ids: Set[str]) -> dict[str, int]:
    return {doc_id: grade for doc_id, grade in grades.items() if doc_id not in doc_ids}
