"""Positions of best passages in their documents.

The best passage is the first with the highest score; of a network that aggregates passages, the passage that
contributed most. Passage i of n (from 0) fills its document from i / n to (i + 1) / n.
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
        n_passages: passages of the document.
        n_scored: scored passages.
        by_chance: probability that the first passage wins if all scored passages are equally likely to.
        score: score of the passage, or of the document by a network.
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
        """Position of its middle in the document, above 0 and below 1."""
        return (self.index + 0.5) / self.n_passages


@dataclass(frozen=True, slots=True)
class Positions:
    """Positions of the best passages of a group of documents.

    Attributes:
        documents: number of (query, document) pairs.
        single: pairs with a single scored passage; they count in `documents` alone.
        first: share of the other pairs whose first passage wins; None if there are none.
        by_chance: expected `first` if all scored passages of a document were equally likely to win; None as above.
        index: distribution of the winners' numbers; None as above.
        mean_place: mean position of their middles in the document; None as above.
        tenths: share of the winners in each tenth of their document; a winner that fills parts of several tenths
            counts in each by its part. Uniform positions give .1 each. Empty if there are no other pairs.
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
    return [_winner(each) for each in evidence]


def _winner(evidence: Evidence) -> Winner:
    best = int(evidence.best_first()[0])
    score = float(evidence.passage_score[best]) if evidence.document_score is None else evidence.document_score
    n_scored = len(evidence.passage_index)
    by_chance = float(evidence.passage_index[0] == 0) / n_scored
    index = int(evidence.passage_index[best])
    return Winner(evidence.query_id, evidence.doc_id, index, evidence.n_passages, n_scored, by_chance, score)


def positions(winners: Collection[Winner]) -> Positions:
    """Return the positions of winners."""
    several = [winner for winner in winners if winner.n_scored > 1]
    return Positions(
        documents=len(winners),
        single=len(winners) - len(several),
        first=_mean([winner.index == 0 for winner in several]),
        by_chance=_mean([winner.by_chance for winner in several]),
        index=distribution([winner.index for winner in several]) if several else None,
        mean_place=_mean([winner.place for winner in several]),
        tenths=tuple(np.mean([_tenths(winner) for winner in several], axis=0).tolist()) if several else (),
    )


def _tenths(winner: Winner) -> NDArray[np.float64]:
    """Return the part of the passage in each tenth of its document, float64[10]; the sum is 1."""
    edges = np.arange(TENTHS + 1) / TENTHS
    return np.diff(np.clip(edges * winner.n_passages - winner.index, 0, 1))


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def relevant(winners: Iterable[Winner], qrels: Qrels, level: int = 1) -> list[Winner]:
    """Return the winners of documents of grade `level` or more."""
    return [winner for winner in winners if qrels.get(winner.query_id, {}).get(winner.doc_id, 0) >= level]


def top(winners: Collection[Winner], k: int, run: Run | None = None) -> list[Winner]:
    """Return the winners of each query's first `k` documents, ranked by a run, or by their best passages."""
    if run is None:
        run = Run("", (ScoredDoc(winner.query_id, winner.doc_id, winner.score) for winner in winners))
    first = {(row.query_id, row.doc_id) for query_id in run for row in run[query_id][:k]}
    return [winner for winner in winners if (winner.query_id, winner.doc_id) in first]
