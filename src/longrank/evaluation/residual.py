"""Residual evaluation: leave documents that were judged before out of the runs and the judgments.

TREC-COVID was evaluated so (Voorhees et al., 2020): in each round, a run is ranked without the documents that earlier
rounds judged for the same topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from longrank.errors import InputError
from longrank.types import Notes, Qrels, Run

Judged = Mapping[str, Set[str]]
"""query_id -> doc_ids."""


def judged_documents(qrels: Iterable[Qrels]) -> Judged:
    """Return the documents that any of several judgments has for each query; a negative grade is no judgment."""
    judged: dict[str, set[str]] = {}
    for judgments in qrels:
        for query_id, grades in judgments.items():
            judged.setdefault(query_id, set()).update(doc_id for doc_id, grade in grades.items() if grade >= 0)
    return judged


def residual_qrels(qrels: Qrels, before: Judged, notes: Notes | None = None, place: str = "the judgments") -> Qrels:
    """Return judgments without the documents judged before; a query that loses all its grades from 0 on is left out.

    Args:
        qrels: the judgments.
        before: documents judged before.
        notes: says how many judgments and topics are left out.
        place: name of the judgments in the notes.

    Raises:
        InputError: no judgment is left.
    """
    if not before:
        return qrels
    rest = {
        query_id: {doc_id: grade for doc_id, grade in grades.items() if doc_id not in before.get(query_id, ())}
        for query_id, grades in qrels.items()
    }
    kept = {
        query_id: grades for query_id, grades in rest.items() if _has_judged(grades) or not _has_judged(qrels[query_id])
    }
    if qrels and not kept:
        raise InputError(
            "every judged document was judged before", about=("qrels",), fix="are they the same judgments?"
        )
    notes = Notes() if notes is None else notes
    n = sum(map(len, qrels.values())) - sum(map(len, rest.values()))
    notes.say(f"{n} judgments of {place} left out: their documents were judged before")
    if len(kept) < len(qrels):
        notes.say(f"{len(qrels) - len(kept)} of {len(qrels)} topics of {place} left out: nothing else is judged")
    if barren := sum(_has_relevant(qrels[query_id]) and not _has_relevant(kept[query_id]) for query_id in kept):
        notes.say(f"{barren} of {len(kept)} topics of {place} have no relevant document left (count as 0)")
    return kept


def _has_judged(grades: Mapping[str, int]) -> bool:
    return max(grades.values(), default=-1) >= 0


def _has_relevant(grades: Mapping[str, int]) -> bool:
    return max(grades.values(), default=0) > 0


def residual_run(run: Run, before: Judged, notes: Notes | None = None, place: str = "the run") -> Run:
    """Return a run without the documents judged before; documents below them move up.

    Args:
        run: the run.
        before: documents judged before.
        notes: says how many documents are left out.
        place: name of the run in the notes.
    """
    if not before:
        return run
    rest = Run(run.tag, (row for row in run.rows() if row.doc_id not in before.get(row.query_id, ())))
    n = sum(len(run[query_id]) - len(rest.get(query_id)) for query_id in run)
    (Notes() if notes is None else notes).say(f"{n} documents of {place} left out: they were judged before")
    return rest
