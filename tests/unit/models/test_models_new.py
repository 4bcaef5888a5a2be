"""What a document network can be built on: encoders whose first vector is of the whole text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from longrank.errors import InputError
from longrank.models.new import create_folder
from longrank.networks.model_files import find_model
from longrank.types import Notes
from tiny_models import save_cross_encoder, save_encoder

pytestmark = pytest.mark.neural


def saved(folder: Path, config: Any) -> Path:
    """Write a model of a configuration with the tokenizer of the tiny BERT."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    torch.manual_seed(3)
    tokenizer = AutoTokenizer.from_pretrained(save_encoder(folder / "bert"))
    AutoModel.from_config(config).save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    return folder / "model"


def create(name: str, model: Path, folder: Path) -> None:
    create_folder(name, find_model(str(model)), folder, Notes(), options={})


def test_a_decoder_whose_first_vector_never_changes_is_refused(tmp_path: Path) -> None:
    from transformers import GPT2Config

    model = saved(tmp_path, GPT2Config(vocab_size=200, n_embd=16, n_layer=2, n_head=2, n_positions=48))
    with pytest.raises(InputError, match="the encoder's first vector does not depend on the text"):
        create("parade-max", model, tmp_path / "network")
    assert not (tmp_path / "network").exists()


@pytest.mark.parametrize("family", ["t5", "bart"])
def test_encoders_with_decoders_are_refused(tmp_path: Path, family: str) -> None:
    from transformers import BartConfig, T5Config

    small = {"vocab_size": 200, "d_model": 16, "num_layers": 1, "num_heads": 2, "d_kv": 8, "d_ff": 32}
    layers = {"encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
    bart = {"encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "max_position_embeddings": 64}
    config = T5Config(**small) if family == "t5" else BartConfig(vocab_size=200, d_model=16, **layers, **bart)
    with pytest.raises(InputError, match="is an encoder with a decoder"):
        create("parade-max", saved(tmp_path, config), tmp_path / "network")


def test_a_classifier_that_padding_changes_is_refused(tmp_path: Path) -> None:
    model = save_cross_encoder(tmp_path / "fnet", "fnet")
    with pytest.raises(InputError, match="changes with the padding"):
        create("maxp", model, tmp_path / "network")


def test_weights_of_two_names_are_saved(tmp_path: Path) -> None:
    """As tied embeddings have: safetensors refuses tensors that share memory."""
    from longrank.models.folders import load_network, save_network
    from longrank.models.new import new_network

    network, tokenizer = new_network(
        "parade-max", find_model(str(save_encoder(tmp_path / "bert"))), Notes(), options={}
    )
    layers = network.encoder.encoder.layer
    layers[1].output.dense.weight = layers[0].output.dense.weight
    save_network(tmp_path / "network", network, tokenizer)
    found = load_network(tmp_path / "network").network.encoder.encoder.layer
    assert (found[0].output.dense.weight == found[1].output.dense.weight).all()
