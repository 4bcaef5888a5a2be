"""The training of the cascade's cross-encoder: what it learns from, its loss, and the folder it leaves."""

from __future__ import annotations

import math
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from longrank.scoring.models import find_model
from longrank.types import Query
from tiny_models import save_cross_encoder

pytestmark = pytest.mark.neural
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def trainer(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    return import_module("benchmarks.train_cross_encoder")


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    return import_module("benchmarks.training_examples")


class WordTeacher:
    """Its vector of a text says which of four words occur."""

    def encode(self, documents: dict[str, list[str]]) -> list[object]:
        words = ["river", "stone", "moon", "bread"]
        rows = [
            np.array([[float(w in text) for w in words] for text in texts], np.float32) for texts in documents.values()
        ]
        return [type("Vectors", (), {"vectors": one}) for one in rows]


def settings(trainer: ModuleType, **replaced: object) -> object:
    read = trainer.Settings(**trainer.read_toml(trainer.CONFIG))
    return read._replace(**{"hard_from": 2, "batch_queries": 2, "max_tokens": 32} | replaced)


def drawn(data: ModuleType, trainer: ModuleType, query_ids: list[str]) -> dict[str, tuple[str, ...]]:
    texts = ["river stone moon", "river stone", "river", "x", "y", "z", "bread"]
    queries = [Query(query_id, f"river stone moon {query_id}") for query_id in query_ids]
    pool = data.Pool(queries, texts, {query_id: [1] for query_id in query_ids})
    found = data.examples(pool, WordTeacher(), settings(trainer), lambda n: None)
    return {example.query: example.texts for example in found}


def test_a_query_gets_its_relevant_passage_the_teachers_two_best_others_and_a_random_one(
    data: ModuleType, trainer: ModuleType
) -> None:
    (texts,) = drawn(data, trainer, ["q"]).values()
    assert texts[0] == "river stone"
    assert set(texts[1:3]) == {"river stone moon", "river"}
    assert texts[3] in {"x", "y", "z", "bread"}


def test_the_teacher_adds_bm25_relative_to_the_querys_best_to_the_cosine(data: ModuleType, trainer: ModuleType) -> None:
    """No text holds the second query's word."""
    pool = data.Pool([Query("a", "river moon"), Query("b", "sun")], ["river moon", "river", "bread"], {})
    taught = data.teacher_scores(pool, WordTeacher(), settings(trainer, lexical=0.5), lambda n: None)
    df = {"river": 2, "moon": 1}
    idf = {term: math.log(1 + (3 - n + 0.5) / (n + 0.5)) for term, n in df.items()}
    both = (idf["river"] + idf["moon"]) / (1 + 0.9 * (1 - 0.4 + 0.4 * 2 / (4 / 3)))
    one = idf["river"] / (1 + 0.9 * (1 - 0.4 + 0.4 * 1 / (4 / 3)))
    assert taught == pytest.approx(np.array([[2.5, 1 + 0.5 * one / both, 0], [0, 0, 0]]))


def test_what_is_drawn_for_a_query_does_not_depend_on_the_others(data: ModuleType, trainer: ModuleType) -> None:
    alone, together = drawn(data, trainer, ["b"]), drawn(data, trainer, ["a", "b", "c"])
    assert together["river stone moon b"] == alone["river stone moon b"]


def test_half_of_the_articles_are_for_training_in_whatever_order_they_come(data: ModuleType) -> None:
    articles = [f"article {n}" for n in range(10)]
    chosen = data.training_articles(articles)
    assert len(chosen) == 5
    assert data.training_articles(articles[::-1]) == chosen


def test_the_loss_of_equal_scores_is_that_of_guessing_plus_the_teachers_surprise(trainer: ModuleType) -> None:
    import torch

    example = trainer.Example("q", ("a", "b", "c", "d"), np.array([0.05, 0, 0, 0], np.float32))
    p, rest = math.e / (math.e + 3), 1 / (math.e + 3)
    surprise = p * math.log(4 * p) + 3 * rest * math.log(4 * rest)
    loss = trainer.loss_of(torch.zeros(1, 4), [example], settings(trainer, temperature=0.05, distillation=2.0))
    assert loss.item() == pytest.approx(math.log(4) + 2 * surprise, rel=1e-5)


def test_every_example_is_in_one_batch(trainer: ModuleType) -> None:
    found = [trainer.Example(str(n), ("x" * (n % 7),), np.zeros(1, np.float32)) for n in range(83)]
    batches = list(trainer.batches(found, settings(trainer)))
    assert sorted(int(one.query) for batch in batches for one in batch) == list(range(83))
    assert max(map(len, batches)) == 2


def test_training_teaches_and_leaves_a_folder_that_can_be_loaded(trainer: ModuleType, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = save_cross_encoder(tmp_path / "tiny", n_outputs=1)
    torch.manual_seed(1)
    network = AutoModelForSequenceClassification.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    example = trainer.Example("river", ("river bank", "house", "dog", "moon"), np.array([1, 0, 0, 0], np.float32))
    losses = trainer.train(network, tokenizer, [example] * 40, settings(trainer, learning_rate=5e-3))
    assert losses[-1] < losses[0] - 1
    trainer.save(network, tokenizer, tmp_path / "trained", {"losses": losses})
    model = find_model(str(tmp_path / "trained"))
    assert model.fingerprint != find_model(str(folder)).fingerprint
    trainer.save(network, tokenizer, tmp_path / "trained", {"losses": losses})
    assert find_model(str(tmp_path / "trained")).fingerprint == model.fingerprint
