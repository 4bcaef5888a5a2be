"""Training examples: what is drawn for a query, what the teacher says, and that nothing evaluated is trained on."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from longrank.formats.queries import read_queries
from longrank.formats.trec import read_qrels
from longrank.types import Document, Notes, Passage, Query

pytestmark = pytest.mark.neural
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def data() -> ModuleType:
    return import_module("benchmarks.training_examples")


@pytest.fixture
def written() -> ModuleType:
    return import_module("benchmarks.pretraining_examples")


@pytest.fixture
def meetings() -> ModuleType:
    return import_module("benchmarks.meeting_pools")


class WordEncoder:
    """Its vector of a text says which of four words occur; it counts what it reads."""

    def __init__(self) -> None:
        self.n_read = 0

    def encode(self, documents: dict[str, list[str]]) -> list[object]:
        self.n_read += sum(map(len, documents.values()))
        words = ["river", "stone", "moon", "bread"]
        rows = [
            np.array([[float(w in text) for w in words] for text in texts], np.float32) for texts in documents.values()
        ]
        return [type("Vectors", (), {"vectors": one}) for one in rows]


def settings(written: ModuleType, **replaced: object) -> object:
    return written.Settings(**written.read_toml(written.CONFIG))._replace(**replaced)


def teacher(data: ModuleType, lexical: float = 0.4) -> object:
    return data.Teacher(WordEncoder(), lexical, lambda n: None)


def drawn(data: ModuleType, written: ModuleType, query_ids: list[str]) -> dict[str, tuple[str, ...]]:
    texts = ["river stone moon", "river stone", "river", "x", "y", "z", "bread"]
    queries = [Query(query_id, f"river stone moon {query_id}") for query_id in query_ids]
    pool = data.Pool(queries, texts, {query_id: [1] for query_id in query_ids})
    found = data.examples(pool, teacher(data), settings(written, hard_from=2))
    return {example.query: example.texts for example in found}


def test_a_query_gets_its_relevant_passage_the_teachers_two_best_others_and_a_random_one(
    data: ModuleType, written: ModuleType
) -> None:
    (texts,) = drawn(data, written, ["q"]).values()
    assert texts[0] == "river stone"
    assert set(texts[1:3]) == {"river stone moon", "river"}
    assert texts[3] in {"x", "y", "z", "bread"}


def test_a_passage_that_is_neither_relevant_nor_another_one_is_not_drawn(data: ModuleType, written: ModuleType) -> None:
    texts = ["river", "river stone", *"abcd"]
    pool = data.Pool([Query("q", "river")], texts, {"q": [0]}, {"q": frozenset([1])}, n_each=20)
    found = data.examples(pool, teacher(data), settings(written))
    assert {text for example in found for text in example.texts} == {"river", *"abcd"}


def test_what_validates_a_query_is_its_relevant_passage_the_twelve_best_others_and_three_of_the_rest(
    data: ModuleType, written: ModuleType
) -> None:
    texts = ["moon", *(f"river {n}" for n in range(12)), *(f"sun {n}" for n in range(9))]
    pool = data.Pool([Query("q", "river")], texts, {"q": [0]})
    (example,) = data.dev_examples(pool, teacher(data), settings(written))
    assert example.texts[0] == "moon"
    assert set(example.texts[1:13]) == set(texts[1:13])
    assert len(set(example.texts[13:])) == 3
    assert set(example.texts[13:]) < set(texts[13:])


def test_the_teacher_adds_bm25_relative_to_the_querys_best_to_the_cosine(data: ModuleType) -> None:
    """No text holds the second query's word."""
    pool = data.Pool([Query("a", "river moon"), Query("b", "sun")], ["river moon", "river", "bread"], {})
    df = {"river": 2, "moon": 1}
    idf = {term: math.log(1 + (3 - n + 0.5) / (n + 0.5)) for term, n in df.items()}
    both = (idf["river"] + idf["moon"]) / (1 + 0.9 * (1 - 0.4 + 0.4 * 2 / (4 / 3)))
    one = idf["river"] / (1 + 0.9 * (1 - 0.4 + 0.4 * 1 / (4 / 3)))
    taught = teacher(data, 0.5).scores(pool)
    assert taught == pytest.approx(np.array([[2.5, 1 + 0.5 * one / both, 0], [0, 0, 0]]))


def test_a_text_of_several_pools_is_read_once(data: ModuleType) -> None:
    encoder = WordEncoder()
    once = data.Teacher(encoder, 0.4, lambda n: None)
    pool = data.Pool([Query("a", "river")], ["river", "moon", "bread"], {})
    assert once.scores(pool).tolist() == once.scores(pool).tolist()
    assert encoder.n_read == 3


def test_what_is_drawn_for_a_query_does_not_depend_on_the_others(data: ModuleType, written: ModuleType) -> None:
    alone, together = drawn(data, written, ["b"]), drawn(data, written, ["a", "b", "c"])
    assert together["river stone moon b"] == alone["river stone moon b"]


def test_a_window_is_as_relevant_as_much_of_it_lies_in_relevant_turns(meetings: ModuleType) -> None:
    meeting = Document("m", "", "x" * 40, ((0, 10), (10, 20), (20, 30), (30, 40)))
    windows = [Passage("m", n, "", start, start + 16) for n, start in enumerate((0, 16, 24))]
    assert meetings.relevant_shares(meeting, windows, {"m#0": 1, "m#2": 1}) == [10 / 16, 10 / 16, 6 / 16]


def test_nothing_that_is_evaluated_is_trained_on(written: ModuleType, shared_data: Path) -> None:
    evaluated = evaluated_queries(shared_data) | odd_questions(shared_data)
    odd_paragraphs = paragraphs_of_odd_articles(shared_data)
    for name in ("full", "no-squad"):
        pools = [pool for reader in written.TRAINING[name] for pool in pools_of(reader, shared_data, settings(written))]
        assert len(pools) > 100
        assert not evaluated & {query.text.lower() for pool in pools for query in pool.queries}
        assert not odd_paragraphs & {text for pool in pools for text in pool.texts}


def test_what_validates_is_not_trained_on(written: ModuleType, shared_data: Path) -> None:
    """No question about the articles, and no claim about the abstracts, that validate."""
    of_data = settings(written)
    for name in ("full", "no-squad"):
        pools, dev = (
            [pool for reader in readers for pool in pools_of(reader, shared_data, of_data)]
            for readers in (written.TRAINING[name], written.VALIDATION[f"dev-{name}"])
        )
        assert sum(len(pool.queries) for pool in dev) == 30 * len(dev)
        assert not {one.text for pool in pools for one in pool.queries} & {one.text for p in dev for one in p.queries}
        assert not relevant_texts(pools) & relevant_texts(dev)


@cache
def pools_of(reader: Callable[..., list[object]], data: Path, of_data: object) -> list[object]:
    return reader(data, of_data)


def test_the_cascades_cross_encoder_learns_in_one_pass() -> None:
    from longrank.training.settings import load_training

    settings = load_training(str(ROOT / "benchmarks" / "cross_encoder.toml"))
    assert [(term.name, term.weight) for term in settings.loss] == [("lce", 1.0), ("kl", 3.0)]
    assert settings.loop.steps * settings.loop.batch in range(5810, 5818)


def relevant_texts(pools: list[object]) -> set[str]:
    return {pool.texts[n] for pool in pools for query in pool.queries for n in pool.relevant[query.query_id]}


def evaluated_queries(data: Path) -> set[str]:
    queries = [
        *read_queries(data / "scifact" / "queries.jsonl", Notes()),
        *read_queries(data / "qmsum" / "queries.jsonl", Notes()),
    ]
    return {query.text.lower() for query in queries if query.fields["split"] in ("dev", "val", "test")}


def is_odd(article: str) -> bool:
    from hashlib import sha256

    return sha256(article.encode()).digest()[-1] % 2 == 1


def odd_questions(data: Path) -> set[str]:
    """Questions of all three SQuAD collections have the same ids."""
    articles = read_qrels(data / "squad-dev-v1.1" / "qrels.txt", Notes())
    return {
        query.text.lower()
        for name in ("squad-dev-v1.1", "squad-dev-mixed", "squad-dev-sections")
        for query in read_queries(data / name / "queries.jsonl", Notes())
        if any(map(is_odd, articles[query.query_id]))
    }


def paragraphs_of_odd_articles(data: Path) -> set[str]:
    from longrank.collections.documents import locate_documents

    documents = [located.document for located in locate_documents([str(data / "squad-dev-v1.1")], Notes())]
    return {one.text[start:end] for one in documents if is_odd(one.doc_id) for start, end in one.passages}
