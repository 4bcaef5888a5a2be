"""What the cross-encoder learns from: questions and claims, each with one relevant passage and three others.

SQuAD's questions about one half of its articles (`training_articles`), with their paragraphs: the other
half is for evaluation; SciFact's training claims with abstracts; and Cranfield's questions with abstracts, several
of which are relevant because they are about the question's topic, as whole documents are.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from longrank.formats.corpora import read_documents
from longrank.formats.queries import read_queries
from longrank.formats.trec import read_qrels
from longrank.protocols import ScoringTask
from longrank.scoring.bi_encoder import BiEncoder
from longrank.scoring.lexical import LexicalScorer
from longrank.text.analysis import ANALYZERS
from longrank.types import Document, Notes, Qrels, Query

T = TypeVar("T")


class Settings(NamedTuple):
    """The keys of cross_encoder.toml, explained there."""

    seed: int
    init: str
    teacher: str
    max_tokens: int
    squad_queries: int
    scifact_abstracts: int
    scifact_examples: int
    cranfield_examples: int
    hard_from: int
    batch_queries: int
    learning_rate: float
    lexical: float
    temperature: float
    distillation: float


class Example(NamedTuple):
    """A query, four passages, the relevant one first, and the teacher's score of each, float32[4]."""

    query: str
    texts: tuple[str, ...]
    taught: NDArray[np.float32]


class Pool(NamedTuple):
    """Queries, the passages among which theirs are found, and per query_id the positions of the relevant ones.

    `n_each` examples are made of each query.
    """

    queries: Sequence[Query]
    texts: Sequence[str]
    relevant: Mapping[str, Sequence[int]]
    n_each: int = 1


def draw(seed: int, name: str) -> np.random.Generator:
    """Return a generator that is a function of (seed, name)."""
    return np.random.default_rng(int.from_bytes(hashlib.sha256(f"{seed} {name}".encode()).digest()[:8], "big"))


def sample(items: Sequence[T], n: int, seed: int, name: Callable[[T], str]) -> list[T]:
    """Return the `n` items whose (seed, name) hashes least, whatever the order of `items`."""
    return sorted(items, key=lambda item: hashlib.sha256(f"{seed} {name(item)}".encode()).digest())[:n]


def training_articles(doc_ids: Sequence[str]) -> frozenset[str]:
    """Return the half of SQuAD's articles that is trained on; queries about the others are for evaluation."""
    return frozenset(sample(doc_ids, len(doc_ids) // 2, 0, str))


def squad_pool(data: Path, settings: Settings) -> Pool:
    """Questions about the training articles, among the paragraphs of these articles."""
    documents, queries, judged = _collection(data / "squad-dev-v1.1")
    passages = read_qrels(data / "squad-dev-v1.1" / "passage_qrels.txt", Notes())
    articles = training_articles([document.doc_id for document in documents])
    kept = [document for document in documents if document.doc_id in articles]
    paragraphs = {
        f"{document.doc_id}#{n}": document.text[start:end]
        for document in kept
        for n, (start, end) in enumerate(document.passages)
    }
    ours = [query for query in queries if articles.issuperset(judged[query.query_id])]
    return _pool(sample(ours, settings.squad_queries, settings.seed, _query_id), paragraphs, passages)


def scifact_pool(data: Path, settings: Settings) -> Pool:
    """Training claims, among the abstracts that they cite and some others."""
    documents, queries, judged = _collection(data / "scifact")
    claims = [query for query in queries if query.fields["split"] == "train"]
    cited = {doc_id for claim in claims for doc_id in judged[claim.query_id]}
    others = [document.doc_id for document in documents if document.doc_id not in cited]
    kept = cited | set(sample(others, settings.scifact_abstracts, settings.seed, str))
    texts = {one.doc_id: f"{one.title} {one.text}" for one in documents if one.doc_id in kept}
    return _pool(claims, texts, judged)._replace(n_each=settings.scifact_examples)


def cranfield_pool(data: Path, settings: Settings) -> Pool:
    """All questions, among all abstracts, which begin with their titles."""
    documents, queries, judged = _collection(data / "cranfield")
    pool = _pool(queries, {one.doc_id: one.text for one in documents}, judged)
    return pool._replace(n_each=settings.cranfield_examples)


def examples(pool: Pool, teacher: BiEncoder, settings: Settings, advance: Callable[[int], object]) -> list[Example]:
    """Draw the negatives of every query: two among the teacher's best, one among all."""
    return [
        _example(query, f"{query.query_id} {n}" if n else query.query_id, pool, taught, settings)
        for query, taught in zip(pool.queries, teacher_scores(pool, teacher, settings, advance), strict=True)
        for n in range(pool.n_each)
    ]


def teacher_scores(
    pool: Pool, teacher: BiEncoder, settings: Settings, advance: Callable[[int], object]
) -> NDArray[np.float32]:
    """Return cosine + lexical * BM25 / the query's best BM25 of every query and text, float32[Q, N]."""
    rows = []
    for text in pool.texts:  # one by one: no padding
        rows.append(teacher.encode({"": [text]})[0].vectors)
        advance(1)
    of_queries = [teacher.encode({query.query_id: [query.text]})[0].vectors for query in pool.queries]
    cosines = np.concatenate(of_queries) @ np.concatenate(rows).T
    tasks = [ScoringTask(query, "", (), tuple(pool.texts)) for query in pool.queries]
    bm25 = np.stack([found.scores for found in LexicalScorer(PoolStatistics(pool.texts)).score(tasks)])
    return cosines + settings.lexical * bm25 / np.maximum(bm25.max(axis=1, keepdims=True), np.float32(1e-9))


class PoolStatistics:
    """A pool as the collection that BM25 knows."""

    analyzer = staticmethod(ANALYZERS["porter"])
    digest = "pool"

    def __init__(self, texts: Sequence[str]) -> None:
        analysed = [self.analyzer(text) for text in texts]
        self._df = Counter(term for terms in analysed for term in set(terms))
        self.n_nonempty = sum(map(bool, analysed))
        self.avgdl = sum(map(len, analysed)) / self.n_nonempty

    def df(self, term: str) -> int:
        """Return how many texts hold `term`."""
        return self._df[term]


def _example(query: Query, name: str, pool: Pool, taught: NDArray[np.float32], settings: Settings) -> Example:
    relevant, generator = pool.relevant[query.query_id], draw(settings.seed, name)
    others = [n for n in np.argsort(-taught, kind="stable").tolist() if n not in relevant]
    hard = generator.choice(settings.hard_from, 2, replace=False)
    random = generator.integers(settings.hard_from, len(others))
    chosen = [relevant[int(generator.integers(len(relevant)))], *(others[n] for n in (*hard, random))]
    return Example(query.text, tuple(pool.texts[n] for n in chosen), taught[chosen])


def _collection(folder: Path) -> tuple[list[Document], list[Query], Qrels]:
    notes = Notes()
    documents = [located.document for located in read_documents([str(folder)], notes)]
    return documents, read_queries(folder / "queries.jsonl", notes), read_qrels(folder / "qrels.txt", notes)


def _pool(queries: Sequence[Query], texts: Mapping[str, str], judged: Qrels) -> Pool:
    numbers = {name: n for n, name in enumerate(texts)}
    relevant = {
        query.query_id: [numbers[name] for name, grade in judged[query.query_id].items() if grade > 0]
        for query in queries
    }
    return Pool(queries, list(texts.values()), relevant)


def _query_id(query: Query) -> str:
    return query.query_id
