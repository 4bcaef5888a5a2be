"""Small collections and scorers built on the spot; each implements a protocol of the package."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from longrank.formats.corpora import Located
from longrank.index import Index, build_index
from longrank.protocols import PassageScores, ScoringTask
from longrank.types import Document, Query

WORDS = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "river",
    "stone",
    "light",
    "house",
    "bread",
    "tide",
    "moon",
    "chain",
    "wheel",
    "bee",
    "honey",
    "salt",
]


def documents(n: int, *, words: int = 300, seed: int = 7) -> list[Document]:
    """`n` documents of about `words` words from a small vocabulary, always the same."""
    rng = random.Random(seed)
    made = []
    for i in range(n):
        text = " ".join(rng.choices(WORDS, k=rng.randint(words // 3, words * 2)))
        made.append(Document(f"d{i:03d}", f"title {i}", text))
    return made


def index_of(made: Sequence[Document], folder: Path) -> Index:
    return build_index([Located(document, "memory", None) for document in made], folder)


def queries(n: int) -> list[Query]:
    rng = random.Random(11)
    return [Query(f"q{i:02d}", " ".join(rng.sample(WORDS, 3))) for i in range(n)]


class CountingScorer:
    """Scores a passage by how often the query's words occur in it; counts how many it was asked for."""

    unit = "count"
    fingerprint = "counting"
    needs_model, scores_documents = False, False

    def __init__(self, index: Index | None = None) -> None:
        self.n_scored = 0

    def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
        return [self._score(task) for task in tasks]

    def _score(self, task: ScoringTask) -> PassageScores:
        self.n_scored += len(task.texts)
        wanted = set(task.query.text.split())
        counts = [sum(word in wanted for word in text.split()) for text in task.texts]
        return PassageScores(np.array(counts, np.float32), np.zeros(len(counts), np.bool_))
