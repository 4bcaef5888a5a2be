"""Count truncated and skipped passages while evidence is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from longrank.types import Evidence, Notes


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
    for note, counts in (("cut at the scorer's length limit", truncated), ("not scored (cap or selection)", skipped)):
        for doc_id, count in counts.items():
            notes.add(f"passages {note}, once per document", f"document {doc_id}", count)
    if n_scored < n_passages:
        notes.say(f"passages scored: {n_scored} of {n_passages} ({n_scored / n_passages:.1%})")
