"""Count truncated and skipped passages while evidence is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from longrank.types import Evidence, Notes

_CUT, _LEFT_OUT = "passages cut at the scorer's length limit", "passages not scored (cap or selection)"


def note_unread_passages(notes: Notes, place: str, n_cut: int, n_left_out: int) -> None:
    """Count the truncated and the skipped passages of a document that is read once."""
    notes.add(_CUT, place, n_cut)
    notes.add(_LEFT_OUT, place, n_left_out)


def note_own_score(evidence: Evidence, notes: Notes) -> None:
    """Count a document that has a score of its own, where an aggregator uses passage scores alone."""
    own = "documents with an own score that only the aggregator 'document' uses"
    notes.add(own, evidence.doc_id, evidence.document_score is not None)


def unread_notes(evidence: Sequence[Evidence], places: Sequence[int], *, partial: bool = False) -> Notes:
    """Return notes on the truncated and the skipped passages of texts.

    Args:
        evidence: evidence of each text.
        places: place of each text in its list.
        partial: a deadline has skipped passages; skipped passages are not counted.
    """
    notes = Notes()
    for place, document in zip(places, evidence, strict=True):
        n_left_out = 0 if partial else document.n_passages - len(document.passage_index)
        note_unread_passages(notes, f"text {place}", document.n_truncated, n_left_out)
    return notes


def counting_unread(evidence: Iterable[Evidence], notes: Notes) -> Iterator[Evidence]:
    """Pass evidence on and count unread passages.

    Truncated and skipped passages are counted once per document; the share of scored passages is over all queries.
    """
    truncated: dict[str, int] = {}
    skipped: dict[str, int] = {}
    n_scored = n_passages = 0
    for document in evidence:
        doc_id, n_read = document.doc_id, len(document.passage_index)
        n_scored, n_passages = n_scored + n_read, n_passages + document.n_passages
        truncated[doc_id] = max(document.n_truncated, truncated.get(doc_id, 0))
        skipped[doc_id] = max(document.n_passages - n_read, skipped.get(doc_id, 0))
        yield document
    for kind, counts in ((_CUT, truncated), (_LEFT_OUT, skipped)):
        for doc_id, count in counts.items():
            notes.add(f"{kind}, once per document", f"document {doc_id}", count)
    if n_scored < n_passages:
        notes.say(f"passages scored: {n_scored} of {n_passages} ({n_scored / n_passages:.1%})")
