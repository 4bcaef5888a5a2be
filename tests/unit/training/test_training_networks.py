"""The loop on what it is for: document networks and cross-encoders of transformers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from longrank.draws import below
from longrank.errors import InputError

pytestmark = pytest.mark.neural

N_PASSAGES = 2


class Documents:
    """Learns that documents with "water" in them are better, by pairs of two passages each."""

    def __init__(self, model: Path, loss: str = "hinge") -> None:
        from longrank.models.folders import load_network
        from longrank.training.loss_terms import LossTerm, weighted_loss

        loaded = load_network(model)
        self.network, self.tokenizer = loaded.network, loaded.tokenizer
        self._loss = weighted_loss([LossTerm(name=loss)])

    def loss(self, instances: Sequence[int]) -> Any:
        return self._loss(self._scores(instances))

    def validate(self) -> float:
        scores = self._scores(range(1000, 1010))
        return float((scores[:, 0] > scores[:, 1]).float().mean())

    def save(self, folder: Path, record: Mapping[str, Any]) -> None:
        from longrank.models.folders import save_network

        save_network(folder, self.network, self.tokenizer, record)

    def _scores(self, instances: Sequence[int]) -> Any:
        import torch

        texts = [text for number in instances for better in (True, False) for text in _passages(number, better)]
        features = self.tokenizer(["the river"] * len(texts), texts, padding=True, return_tensors="pt")
        sizes = torch.full((2 * len(instances),), N_PASSAGES)
        return self.network(features, sizes).view(-1, 2)


def _passages(number: int, better: bool) -> list[str]:
    """Return passages of one length, so that no padding differs between micro-batches."""
    words = ("city", "king", "war", "boat", "moon", "bread")
    drawn = [[words[below(6, number, better, i, j)] for j in range(5)] for i in range(N_PASSAGES)]
    if better:
        drawn[below(N_PASSAGES, number)][below(5, number)] = "water"
    return [" ".join(passage) for passage in drawn]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tiny_models import save_document_network

    return save_document_network(tmp_path_factory.mktemp("models") / "m")


def run(folder: Path, task: Any, **changes: Any) -> dict[str, Any]:
    import torch

    from longrank.training.loop import train
    from training_tasks import settings

    torch.set_num_threads(1)
    progress = changes.pop("progress", lambda n: None)
    changes = {"steps": 4, "batch": 4, "clip": None, "schedule": {"name": "constant"}, "validate_every": 2} | changes
    return train(task, settings(**changes), folder, progress=progress)


def losses(folder: Path) -> list[float]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [line["loss"] for line in lines if "loss" in line]


def test_a_trained_document_network_is_a_model_folder_with_its_record(tmp_path: Path, model: Path) -> None:
    import torch

    from longrank.models.folders import load_network

    task = Documents(model)
    record = run(tmp_path / "t", task)
    loaded = load_network(tmp_path / "t" / "model")
    assert loaded.record == record
    for one, two in zip(task.network.parameters(), loaded.network.parameters(), strict=True):
        assert torch.equal(one, two)


def test_with_dropout_an_interrupted_document_network_ends_with_the_same_bytes(tmp_path: Path, model: Path) -> None:
    from training_tasks import contents

    class Failed(Exception):
        pass

    def failing(n: int) -> None:
        done.append(n)
        if len(done) == 4:
            raise Failed

    done: list[int] = []
    run(tmp_path / "a", Documents(model))
    with pytest.raises(Failed):
        run(tmp_path / "b", Documents(model), progress=failing, checkpoint_every=3)
    run(tmp_path / "b", Documents(model))
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_gradient_checkpointing_changes_memory_not_the_trajectory(tmp_path: Path, model: Path) -> None:
    run(tmp_path / "a", Documents(model))
    task = Documents(model)
    run(tmp_path / "b", task, gradient_checkpointing=True)
    assert any(getattr(module, "gradient_checkpointing", False) for module in task.network.modules())
    assert losses(tmp_path / "b") == pytest.approx(losses(tmp_path / "a"), abs=1e-6)


def test_in_bf16_products_are_rounded_and_weights_are_not(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr("longrank.training.updates.multiplies_bf16", lambda device: True)
    run(tmp_path / "a", Documents(model))
    task = Documents(model)
    run(tmp_path / "b", task, precision="bf16")
    assert {values.dtype for values in task.network.parameters()} == {torch.float32}
    exact, rounded = losses(tmp_path / "a"), losses(tmp_path / "b")
    assert rounded[0] == pytest.approx(exact[0], abs=0.1)
    assert rounded != exact


def test_auto_is_bf16_where_the_machine_multiplies_bf16_else_float32(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from training_tasks import contents

    for name, fast in (("bf16", True), ("no", False)):
        monkeypatch.setattr("longrank.training.updates.multiplies_bf16", lambda device, fast=fast: fast)
        run(tmp_path / f"{name}-auto", Documents(model), precision="auto")
        run(tmp_path / name, Documents(model), precision=name)
        assert contents(tmp_path / f"{name}-auto") == contents(tmp_path / name)


def test_bf16_is_refused_where_it_would_be_emulated(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longrank.training.updates.multiplies_bf16", lambda device: False)
    with pytest.raises(InputError, match=r"no instructions for products in bf16.*use precision = auto or no"):
        run(tmp_path / "t", Documents(model), precision="bf16")
    assert not (tmp_path / "t").exists()


def test_of_a_frozen_encoder_nothing_changes_and_nothing_is_kept_in_checkpoints(tmp_path: Path, model: Path) -> None:
    import torch

    from longrank.training.checkpoints import weights_of

    task = Documents(model)
    task.network.encoder.requires_grad_(False)
    before = {name: values.clone() for name, values in task.network.state_dict().items()}
    assert not any(name.startswith("encoder.") for name in weights_of(task.network))
    run(tmp_path / "t", task)
    changed = {name for name, values in task.network.state_dict().items() if not torch.equal(values, before[name])}
    assert changed
    assert not any(name.startswith("encoder.") for name in changed)


def test_a_networks_weights_are_saved_however_it_is_built(tmp_path: Path) -> None:
    """Every network's trained parameters survive copying out and in, tied ones and buffers, too."""
    import torch

    from longrank.models.folders import load_network
    from longrank.training.checkpoints import set_weights, weights_of
    from tiny_models import save_document_network

    for name in ("maxp", "birch-passage", "knrm", "cedr-knrm", "parade-cnn"):
        network = load_network(save_document_network(tmp_path / name, name)).network
        weights = weights_of(network)
        with torch.no_grad():
            for values in network.parameters():
                values.zero_()
        set_weights(network, weights)
        again = weights_of(network)
        assert all(torch.equal(values, again[key]) for key, values in weights.items())
        assert any(values.any() for values in weights.values())


def test_the_loss_of_a_cross_encoder_falls(tmp_path: Path) -> None:
    from tiny_models import save_document_network

    folder = save_document_network(tmp_path / "m", "maxp", outputs=1)
    optimizer = {"name": "adamw", "learning_rate": 0.01}
    record = run(
        tmp_path / "t", Documents(folder, "pair-softmax"), steps=60, batch=8, validate_every=30, optimizer=optimizer
    )
    assert record["losses"][-1] < 0.7 * record["losses"][0]
    assert record["best_measure"] > 0.8
