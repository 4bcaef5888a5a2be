"""Names, options and presets of document networks."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from document_networks import Encoders
from longrank.errors import InputError
from longrank.models import DOCUMENT_NETWORKS, PRESETS

pytestmark = pytest.mark.neural


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> Encoders:
    return Encoders(tmp_path_factory.mktemp("encoders"))


def test_names_options_and_defaults_are_known_without_building_anything() -> None:
    from longrank.models.create import options_of

    assert options_of("vanilla-bert") == {"dropout": 0.1, "vector": "cls", "outputs": 1}
    assert options_of("birch-passage") == {"k": 3, "initial": "mean", "outputs": 0, "score": "logit"}


def test_the_registry_is_read_without_torch() -> None:
    code = "import longrank.models, longrank.models.description, sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("parade-mx", {}, r"unknown document network \(got 'parade-mx'\); did you mean 'parade-max'\?"),
        ("parade-max", {"vectr": "cls"}, r"parade-max has no option \(got 'vectr'\); did you mean 'vector'\?"),
        ("parade-max", {"vector": 1}, r"vector must be of the type str \(got 1\)"),
        ("parade-max", {"outputs": True}, r"outputs must be of the type int \(got true\)"),
        ("parade-max", {"outputs": 3}, r"unknown outputs \(got 3\); one of 1, 2"),
        ("parade-max", {"dropout": 2}, r"dropout must be between 0 and 1 \(got 2.0\)"),
        ("parade-max", {"dropout": float("nan")}, r"dropout must be between 0 and 1 \(got nan\)"),
        ("parade-max", {"vector": "mean"}, r"unknown vector \(got 'mean'\); one of cls, pooled"),
        ("parade-transformer", {"positions": -1}, r"positions must be 0 or more \(got -1\)"),
        ("birch-passage", {"k": 0}, r"k must be 1 or more \(got 0\)"),
    ],
)
def test_what_is_wrong_with_names_and_options_is_said(name: str, options, message: str, encoders: Encoders) -> None:
    from longrank.models.create import create_network

    with pytest.raises(InputError, match=message):
        create_network(name, encoders.read("bert")[0], options)


@pytest.mark.parametrize(("preset", "name"), [(one, name) for one, networks in PRESETS.items() for name in networks])
def test_presets_hold_options_that_networks_have(preset: str, name: str, encoders: Encoders) -> None:
    from longrank.models.create import create_network

    encoder, tokenizer = encoders.read("bert")
    network = create_network(name, encoder, tokenizer=tokenizer, preset=preset)
    assert {**network.options, **PRESETS[preset][name]} == network.options
    assert network.options.keys() - PRESETS[preset][name].keys() <= network.found_options.keys()
    assert name in DOCUMENT_NETWORKS


def test_options_stand_over_the_preset(encoders: Encoders) -> None:
    from longrank.models.create import create_network

    made = create_network("parade-max", encoders.read("electra")[0], {"vector": "cls"}, preset="standalone")
    assert made.options == {"vector": "cls", "outputs": 2, "dropout": 0.1}


def test_the_standalone_release_begins_with_the_separator_and_reads_pooled_vectors(encoders: Encoders) -> None:
    import torch

    from longrank.models.create import create_network

    encoder, tokenizer = encoders.read("bert")
    network: Any = create_network("parade-transformer", encoder, tokenizer=tokenizer, preset="standalone")
    assert torch.equal(network.cls[0], encoder.get_input_embeddings().weight[tokenizer.sep_token_id])
    assert network.encoder.pooler is not None
    assert network.head.out_features == 2
    assert network.max_passages is None


def test_capreolus_numbers_its_passages_and_keeps_the_aggregators_cls(encoders: Encoders) -> None:
    from longrank.models.create import create_network

    network: Any = create_network("parade-transformer", encoders.read("bert")[0], preset="capreolus")
    assert network.positions.num_embeddings == 17
    assert not network.cls.requires_grad
    assert network.max_passages == 16


@pytest.mark.parametrize(
    ("name", "preset", "message"),
    [
        ("parade-max", "stand-alone", r"unknown preset.*did you mean 'standalone'\?"),
        ("parade-cnn", "standalone", r"'standalone' has no network \(got 'parade-cnn'\); it has parade-attn"),
    ],
)
def test_a_preset_that_does_not_exist_is_refused(name: str, preset: str, message: str, encoders: Encoders) -> None:
    from longrank.models.create import create_network

    with pytest.raises(InputError, match=message):
        create_network(name, encoders.read("bert")[0], preset=preset)


def test_creating_a_network_leaves_the_random_generator_alone(encoders: Encoders) -> None:
    import torch

    from longrank.models.create import create_network

    encoder = encoders.read("bert")[0]
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    create_network("parade-cnn", encoder)
    assert torch.equal(torch.rand(3), expected)
