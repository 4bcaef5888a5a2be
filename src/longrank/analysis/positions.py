"""Where in its document the passage stands that wins: the first of those with the highest score.

Of a network that aggregates passages itself, the winner is the passage that contributed most. A place is the passage's
number from 0, and a part of the document: passage i of n fills it from i / n to (i + 1) / n.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longrank.analysis.distribution import Distribution, distribution
from longrank.types import Evidence, Qrels, Run, ScoredDoc

TENTHS = 10


@dataclass(frozen=True, slots=True)
class Winner:
    """The best passage of a document for a query.

    Attributes:
        query_id: the query.
        doc_id: the document.
        index: the passage's number in the document, from 0.
        n_passages: how many passages the document has.
        n_scored: how many of them were scored.
        by_chance: how likely the first passage would win if all that were scored were as likely to.
        score: the passage's, or a network's of the document.
    """

    query_id: str
    doc_id: str
    index: int
    n_passages: int
    n_scored: int
    by_chance: float
    score: float

    @property
    def place(self) -> float:
        """Where in the document its middle stands, above 0 and below 1."""
        return (self.index + 0.5) / self.n_passages


@dataclass(frozen=True, slots=True)
class Positions:
    """Where the best passages of a group of documents stand.

    Attributes:
        documents: (query, document) pairs.
        single: those of which one passage was scored, which say nothing of positions and count in `documents` alone.
        first: share of the others whose first passage wins; None if there is no other.
        by_chance: what it would be if all scored passages of a document were as likely to win.
        index: how the winners' numbers are distributed; None as above.
        mean_place: mean of where their middles stand in the document; None as above.
        tenths: share of the winners in the first, second, ... tenth of their document; one that fills a part of
            several counts in each by its part. Of winners that are anywhere as often, .1 each. Empty as above.
    """

    documents: int
    single: int
    first: float | None
    by_chance: float | None
    index: Distribution | None
    mean_place: float | None
    tenths: tuple[float, ...]


def winners(evidence: Iterable[Evidence]) -> list[Winner]:
    """Return the best passage of every document, in the order of the evidence."""
    return [_winner(one) for one in evidence]


def _winner(one: Evidence) -> Winner:
    worth = one.passage_score if one.document_score is None else one.passage_weight
    best = int(np.argmax(worth))
    score = float(worth[best]) if one.document_score is None else one.document_score
    n_scored = len(one.passage_index)
    by_chance = float(one.passage_index[0] == 0) / n_scored
    return Winner(one.query_id, one.doc_id, int(one.passage_index[best]), one.n_passages, n_scored, by_chance, score)


def positions(found: Collection[Winner]) -> Positions:
    """Return where winners stand."""
    several = [one for one in found if one.n_scored > 1]
    return Positions(
        documents=len(found),
        single=len(found) - len(several),
        first=_mean([one.index == 0 for one in several]),
        by_chance=_mean([one.by_chance for one in several]),
        index=distribution([one.index for one in several]) if several else None,
        mean_place=_mean([one.place for one in several]),
        tenths=tuple(np.mean([_tenths(one) for one in several], axis=0).tolist()) if several else (),
    )


def _tenths(one: Winner) -> NDArray[np.float64]:
    """Return the part of the passage that stands in each tenth of its document, float64[10]; together 1."""
    edges = np.arange(TENTHS + 1) / TENTHS
    return np.diff(np.clip(edges * one.n_passages - one.index, 0, 1))


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def relevant(found: Iterable[Winner], qrels: Qrels, level: int = 1) -> list[Winner]:
    """Return the winners of documents of grade `level` or more."""
    return [one for one in found if qrels.get(one.query_id, {}).get(one.doc_id, 0) >= level]


def top(found: Collection[Winner], k: int, run: Run | None = None) -> list[Winner]:
    """Return the winners of each query's first `k` documents in a run; without one, of those with the best passages."""
    ranking = _by_score(found) if run is None else run
    first = {(row.query_id, row.doc_id) for query_id in ranking for row in ranking[query_id][:k]}
    return [one for one in found if (one.query_id, one.doc_id) in first]


def _by_score(found: Iterable[Winner]) -> Run:
    return Run("", (ScoredDoc(one.query_id, one.doc_id, one.score) for one in found))
