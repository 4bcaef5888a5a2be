"""QMSum's training queries as pools: each meeting is one, with a few windows of other meetings.

A window is relevant if half of its letters are in relevant turns (if no window is, the one with most of them);
a window with fewer is neither relevant nor another passage. Of the same meeting all that is relevant is known, hence
other passages are mostly of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.training_examples import Pool, Settings, draw, sample
from benchmarks.training_pools import read_collection, unseen
from longrank.formats.trec import read_qrels
from longrank.text.segment import make_segmenter
from longrank.types import Document, Notes, Passage, Query

_RELEVANT = 0.5


def meeting_pools(data: Path, settings: Settings) -> list[Pool]:
    """Queries of the split "train", among windows of their meeting and of others; a pool for each meeting."""
    documents, queries, judged = read_collection(data / "qmsum")
    turns = read_qrels(data / "qmsum" / "passage_qrels.txt", Notes())
    asked: dict[str, list[Query]] = {}
    for query in unseen([query for query in queries if query.fields["split"] == "train"], data):
        asked.setdefault(next(iter(judged[query.query_id])), []).append(query)
    meetings = [document for document in documents if document.doc_id in asked]
    length = settings.meeting_words
    segmenter = make_segmenter("windows", {"length": length, "stride": length})
    windows = {meeting.doc_id: segmenter.segment(meeting).passages for meeting in meetings}
    found = []
    for meeting in meetings:
        ours, own = asked[meeting.doc_id], windows[meeting.doc_id]
        shares = np.array([relevant_shares(meeting, own, turns[query.query_id]) for query in ours])
        pool = _meeting_pool(ours, [window.text for window in own], shares, settings)
        foreign = _foreign(meeting.doc_id, windows, settings)
        found.append(pool._replace(texts=[*pool.texts, *foreign]))
    return found


def relevant_shares(meeting: Document, windows: Sequence[Passage], turns: Mapping[str, int]) -> list[float]:
    """Return how much of each window lies in the turns that are named ``doc_id#n``, 0 to 1."""
    inside = np.zeros(len(meeting.text) + 1, dtype=np.int64)
    for name in turns:
        start, end = meeting.passages[int(name.rpartition("#")[2])]
        inside[start + 1 : end + 1] = 1
    before = inside.cumsum()
    return [float(before[one.end] - before[one.start]) / (one.end - one.start) for one in windows]


def _meeting_pool(
    queries: Sequence[Query], texts: Sequence[str], shares: NDArray[np.float64], settings: Settings
) -> Pool:
    """Keep a few windows relevant to each query and a few relevant to none, by their `shares`, float[Q, N]."""
    relevant = shares >= np.minimum(_RELEVANT, shares.max(axis=1, keepdims=True))
    kept: set[int] = set()
    for query, row in zip(queries, relevant, strict=True):
        kept |= set(_drawn(np.flatnonzero(row), settings.meeting_relevant, query.query_id, settings))
    free = np.flatnonzero(~shares.any(axis=0))
    kept |= set(_drawn(free, settings.meeting_others, queries[0].query_id, settings))
    columns = sorted(kept)
    return Pool(
        queries,
        [texts[n] for n in columns],
        {one.query_id: np.flatnonzero(row).tolist() for one, row in zip(queries, relevant[:, columns], strict=True)},
        {one.query_id: frozenset(np.flatnonzero(row)) for one, row in zip(queries, shares[:, columns], strict=True)},
    )


def _foreign(doc_id: str, windows: Mapping[str, Sequence[Passage]], settings: Settings) -> list[str]:
    """Draw a window of each of some other meetings."""
    others = [name for name in windows if name != doc_id]
    chosen = sample(others, settings.meeting_foreign, settings.seed, lambda name: f"{doc_id} {name}")
    return [
        windows[name][int(draw(settings.seed, f"{doc_id} {name}").integers(len(windows[name])))].text for name in chosen
    ]


def _drawn(places: NDArray[np.int64], n: int, name: str, settings: Settings) -> list[int]:
    return sample(places.tolist(), n, settings.seed, lambda place: f"{name} {place}")
