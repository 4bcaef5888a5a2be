"""Training examples of passage scorers: a query, a relevant passage, three other passages, and a teacher's scores.

The teacher, a bi-encoder mixed with BM25, scores every pair of a pool (`benchmarks.training_pools`):

    cosine + lexical * BM25 / the query's best BM25

Two of a query's other passages are drawn among the teacher's best, one among all the rest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from longrank.protocols import ScoringTask
from longrank.scoring.bi_encoder import BiEncoder
from longrank.scoring.lexical import LexicalScorer, TextStatistics
from longrank.training.passage_data.examples import Example, group
from longrank.types import Document, Query

T = TypeVar("T")
_DEV_HARD, _DEV_RANDOM = 12, 3  # other passages of a query that validates


class Settings(NamedTuple):
    """The keys of pretraining.toml, explained there."""

    seed: int
    teacher: str
    lexical: float
    hard_from: int
    squad_queries: int
    scifact_abstracts: int
    scifact_examples: int
    cranfield_examples: int
    meeting_words: int
    meeting_relevant: int
    meeting_others: int
    meeting_foreign: int
    sentence_queries: int
    dev_queries: int


class Pool(NamedTuple):
    """Queries, the passages among which theirs are found, and per query_id the positions of the relevant ones.

    `n_each` examples are made of each query; passages of `unclear` are neither relevant nor other ones.
    """

    queries: Sequence[Query]
    texts: Sequence[str]
    relevant: Mapping[str, Sequence[int]]
    unclear: Mapping[str, frozenset[int]] = {}
    n_each: int = 1


def draw(seed: int, name: str) -> np.random.Generator:
    """Return a generator that is a function of (seed, name)."""
    return np.random.default_rng(int.from_bytes(hashlib.sha256(f"{seed} {name}".encode()).digest()[:8], "big"))


def sample(items: Iterable[T], n: int, seed: int, name: Callable[[T], str]) -> list[T]:
    """Return the `n` items whose (seed, name) hashes least, whatever the order of `items`."""
    return sorted(items, key=lambda item: hashlib.sha256(f"{seed} {name(item)}".encode()).digest())[:n]


class Teacher:
    """A bi-encoder mixed with BM25; it reads every text once, whatever pools hold it.

    Args:
        encoder: the bi-encoder.
        lexical: the weight of BM25.
        advance: is told of every text that has been read.
    """

    def __init__(self, encoder: BiEncoder, lexical: float, advance: Callable[[int], object]) -> None:
        self._encoder, self._lexical, self._advance = encoder, lexical, advance
        self._known: dict[str, NDArray[np.float32]] = {}

    def cosines(self, pool: Pool) -> NDArray[np.float32]:
        """Return the cosine of every query and text, float32[Q, N]."""
        queries = np.concatenate([self._vector(query.text) for query in pool.queries])
        return queries @ np.concatenate([self._vector(text) for text in pool.texts]).T

    def scores(self, pool: Pool) -> NDArray[np.float32]:
        """Return cosine + lexical * BM25 / the query's best BM25 of every query and text, float32[Q, N]."""
        return self.cosines(pool) + np.float32(self._lexical) * lexical_scores(pool)

    def _vector(self, text: str) -> NDArray[np.float32]:
        if text not in self._known:  # one by one: no padding
            self._known[text] = self._encoder.encode({"": [text]})[0].vectors
            self._advance(1)
        return self._known[text]


def lexical_scores(pool: Pool) -> NDArray[np.float32]:
    """Return BM25 over the query's best BM25 of every query and text, float32[Q, N]."""
    tasks = [ScoringTask(query, "", (), tuple(pool.texts)) for query in pool.queries]
    statistics = TextStatistics([Document(str(number), "", text) for number, text in enumerate(pool.texts)])
    bm25 = np.stack([found.scores for found in LexicalScorer(statistics).score(tasks)])
    return bm25 / np.maximum(bm25.max(axis=1, keepdims=True), np.float32(1e-9))


def examples(pool: Pool, teacher: Teacher, settings: Settings) -> list[Example]:
    """Draw the passages of every query: a relevant one, two among the teacher's best others, one among the rest."""
    return [
        _example(query, f"{query.query_id} {n}" if n else query.query_id, pool, taught, settings)
        for query, taught in zip(pool.queries, teacher.scores(pool), strict=True)
        for n in range(pool.n_each)
    ]


def _example(query: Query, name: str, pool: Pool, taught: NDArray[np.float32], settings: Settings) -> Example:
    relevant, generator = pool.relevant[query.query_id], draw(settings.seed, name)
    others = _others(query, pool, taught)
    n_hard = min(settings.hard_from, len(others) // 2)
    hard = generator.choice(n_hard, 2, replace=False)
    random = generator.integers(n_hard, len(others))
    chosen = [relevant[int(generator.integers(len(relevant)))], *(others[n] for n in (*hard, random))]
    return group(query.text, (pool.texts[n] for n in chosen), taught[chosen].tolist())


def dev_examples(pool: Pool, teacher: Teacher, settings: Settings) -> list[Example]:
    """Take of every query a relevant passage, the teacher's twelve best others and three of the rest."""
    found = []
    for query, taught in zip(pool.queries, teacher.scores(pool), strict=True):
        relevant, generator = pool.relevant[query.query_id], draw(settings.seed, f"dev {query.query_id}")
        others = _others(query, pool, taught)
        random = generator.choice(others[_DEV_HARD:], _DEV_RANDOM, replace=False).tolist()
        chosen = [relevant[int(generator.integers(len(relevant)))], *others[:_DEV_HARD], *random]
        found.append(group(query.text, (pool.texts[n] for n in chosen), taught[chosen].tolist()))
    return found


def _others(query: Query, pool: Pool, taught: NDArray[np.float32]) -> list[int]:
    """Return the positions of the passages that are not relevant, the teacher's best first."""
    left_out = {*pool.relevant[query.query_id], *pool.unclear.get(query.query_id, ())}
    return [n for n in np.argsort(-taught, kind="stable").tolist() if n not in left_out]
