"""What a scorer did not read, counted while evidence passes by: a ranking should not hide what it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from longrank.types import Evidence, Notes


def counting_unread(evidence: Iterable[Evidence], notes: Notes) -> Iterator[Evidence]:
    """Pass evidence on and count unread passages: of documents, since one that is cut is cut for every query.

    What was saved is counted over queries and documents.
    """
    cut: dict[str, int] = {}
    unread: dict[str, int] = {}
    n_scored = n_passages = 0
    for one in evidence:
        n_scored, n_passages = n_scored + len(one.passage_index), n_passages + one.n_passages
        cut[one.doc_id] = max(one.n_truncated, cut.get(one.doc_id, 0))
        unread[one.doc_id] = max(one.n_passages - len(one.passage_index), unread.get(one.doc_id, 0))
        yield one
    for what, counts in (("cut at the scorer's length limit", cut), ("not scored (cap or selection)", unread)):
        for doc_id, count in counts.items():
            notes.add(f"passages {what}", f"document {doc_id}", count)
    if n_scored < n_passages:
        notes.say(f"passages scored: {n_scored} of {n_passages} ({n_scored / n_passages:.1%})")
