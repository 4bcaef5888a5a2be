"""The training of the cascade's cross-encoder: its loss, and the folder it leaves."""

from __future__ import annotations

import math
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from longrank.scoring.models import find_model
from longrank.training.passage_data.examples import group
from tiny_models import save_cross_encoder

pytestmark = pytest.mark.neural
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def trainer(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    return import_module("benchmarks.train_cross_encoder")


def settings(trainer: ModuleType, **replaced: object) -> object:
    read = trainer.Settings(**trainer.read_toml(trainer.CONFIG))
    return read._replace(**{"batch_queries": 2, "max_tokens": 32} | replaced)


def test_the_loss_of_equal_scores_is_that_of_guessing_plus_the_teachers_surprise(trainer: ModuleType) -> None:
    import torch

    example = group("q", ("a", "b", "c", "d"), (0.05, 0, 0, 0))
    p, rest = math.e / (math.e + 3), 1 / (math.e + 3)
    surprise = p * math.log(4 * p) + 3 * rest * math.log(4 * rest)
    loss = trainer.loss_of(torch.zeros(1, 4), [example], settings(trainer, temperature=0.05, distillation=2.0))
    assert loss.item() == pytest.approx(math.log(4) + 2 * surprise, rel=1e-5)


def test_every_example_is_in_one_batch(trainer: ModuleType) -> None:
    found = [group(str(n), ("x" * (n % 7),), (0.0,)) for n in range(83)]
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
    example = group("river", ("river bank", "house", "dog", "moon"), (1, 0, 0, 0))
    losses = trainer.train(network, tokenizer, [example] * 40, settings(trainer, learning_rate=5e-3))
    assert losses[-1] < losses[0] - 1
    trainer.save(network, tokenizer, tmp_path / "trained", {"losses": losses})
    model = find_model(str(tmp_path / "trained"))
    assert model.fingerprint != find_model(str(folder)).fingerprint
    trainer.save(network, tokenizer, tmp_path / "trained", {"losses": losses})
    assert find_model(str(tmp_path / "trained")).fingerprint == model.fingerprint
