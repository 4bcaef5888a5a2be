"""Parameter groups by module, decay for matrices only, and learning rates by the schedule's factors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from longrank.errors import InputError
from longrank.training.loop_settings import OptimizerSettings
from longrank.training.schedules import Factors

pytestmark = pytest.mark.neural

SETTINGS = OptimizerSettings(learning_rate=1e-5, head_learning_rate=1e-3, weight_decay=0.01)


def names_by_part(network: Any, settings: OptimizerSettings = SETTINGS) -> dict[str, set[str]]:
    from longrank.training.updates import parameter_groups

    names = {id(values): name for name, values in network.named_parameters()}
    found: dict[str, set[str]] = {}
    for group in parameter_groups(network, settings):
        found.setdefault(group["part"], set()).update(names[id(values)] for values in group["params"])
    return found


@pytest.mark.parametrize("family", ["bert", "albert", "roberta", "electra"])
def test_the_head_of_a_classifier_is_what_is_outside_its_base_model(tmp_path: Path, family: str) -> None:
    from transformers import AutoModelForSequenceClassification

    from tiny_models import save_cross_encoder

    network = AutoModelForSequenceClassification.from_pretrained(save_cross_encoder(tmp_path / "m", family))
    found = names_by_part(network)
    assert found["head"]
    assert all(name.startswith("classifier.") for name in found["head"])
    assert not any(name.startswith("classifier.") for name in found["encoder"])
    assert found["head"] | found["encoder"] == {name for name, _ in network.named_parameters()}


@pytest.mark.parametrize("name", ["parade-transformer", "cedr-knrm", "birch-passage"])
def test_the_head_of_a_document_network_is_what_is_outside_its_encoder(tmp_path: Path, name: str) -> None:
    from longrank.models.folders import load_network
    from tiny_models import save_document_network

    network = load_network(save_document_network(tmp_path / "m", name)).network
    inside = {id(values) for values in network.encoder.parameters()}
    names = {id(values): name for name, values in network.named_parameters()}
    found = names_by_part(network)
    assert found["encoder"] == {names[key] for key in inside}
    assert found["head"] == set(names.values()) - found["encoder"]
    assert found["head"]


def test_a_network_without_head_is_its_encoder(tmp_path: Path) -> None:
    from transformers import AutoModel

    from tiny_models import save_encoder

    network = AutoModel.from_pretrained(save_encoder(tmp_path / "m"))
    assert names_by_part(network, OptimizerSettings(learning_rate=1e-5)).keys() == {"encoder"}
    with pytest.raises(InputError, match="the network has no head, but head_learning_rate is set"):
        names_by_part(network)


def test_frozen_parameters_are_in_no_group_and_all_frozen_are_refused() -> None:
    from training_tasks import Words

    network = Words(0.0)
    network.base_model.requires_grad_(False)
    assert names_by_part(network).keys() == {"head"}
    network.requires_grad_(False)
    with pytest.raises(InputError, match="all are frozen"):
        names_by_part(network)


def test_matrices_decay_and_vectors_do_not() -> None:
    from longrank.training.updates import parameter_groups
    from training_tasks import Words

    for group in parameter_groups(Words(0.0), SETTINGS):
        for values in group["params"]:
            assert group["weight_decay"] == (0.01 if values.ndim > 1 else 0)
    assert len(parameter_groups(Words(0.0), SETTINGS)) == 4


def test_rates_are_the_parts_own_times_the_schedules_factor() -> None:
    from longrank.training.updates import make_optimizer, set_rates
    from training_tasks import Words

    optimizer = make_optimizer(Words(0.0), SETTINGS)
    for factors in (Factors(1.0, 0.5), Factors(0.5, 0.25)):  # of the first rate each time, not of the one before
        set_rates(optimizer, factors)
        rates = {group["part"]: group["lr"] for group in optimizer.param_groups}
        assert rates == pytest.approx({"encoder": 1e-5 * factors.encoder, "head": 1e-3 * factors.head})


def test_without_a_rate_of_its_own_the_head_learns_as_the_encoder_does() -> None:
    from longrank.training.updates import parameter_groups
    from training_tasks import Words

    groups = parameter_groups(Words(0.0), OptimizerSettings(learning_rate=3e-6))
    assert {group["rate"] for group in groups} == {3e-6}


@pytest.mark.parametrize(("name", "wanted"), [("adamw", 2 - 0.1 * 0.5 * 2 - 0.1), ("adam", 2 - 0.1)])
def test_adamw_takes_the_decay_from_the_weights_and_adam_adds_it_to_the_gradient(name: str, wanted: float) -> None:
    """A first step of Adam is the learning rate long, whatever the gradient: lr .1, decay .5, weight 2, gradient 1."""
    import torch

    from longrank.training.updates import make_optimizer

    network = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(network.weight, 2.0)
    settings = OptimizerSettings(name=name, learning_rate=0.1, weight_decay=0.5)  # type: ignore[arg-type]
    network.weight.grad = torch.ones(1, 1)
    make_optimizer(network, settings).step()
    assert float(network.weight.detach()) == pytest.approx(wanted)
