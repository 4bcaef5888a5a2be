"""The network of a bi-encoder as it is loaded; what it is refused for is tested with the scorer."""

from __future__ import annotations

from pathlib import Path

import pytest

from longrank.networks.model_files import find_model
from longrank.networks.sentence_encoder import Prompts, limits_of, load_sentence_encoder, prompts_of
from longrank.types import Notes
from tiny_models import MAX_TOKENS, save_encoder

pytestmark = pytest.mark.neural


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, Prompts("", "")),
        ({"query": "q: ", "document": "d: "}, Prompts("q: ", "d: ")),
        ({"passage": "p: "}, Prompts("", "")),  # sentence-transformers' encode_document finds its own, empty one first
    ],
)
def test_prompts_are_those_that_sentence_transformers_reads(
    tmp_path: Path, given: dict[str, str], found: Prompts
) -> None:
    network = load_sentence_encoder(find_model(str(save_encoder(tmp_path / "m", prompts=given))), "cpu", Notes())
    assert prompts_of(network) == found


def test_a_loaded_network_can_be_trained(tmp_path: Path) -> None:
    network = load_sentence_encoder(find_model(str(save_encoder(tmp_path / "m"))), "cpu", Notes())
    assert limits_of(network) == (32, MAX_TOKENS)
    features = network.tokenizer("a river", return_tensors="pt")
    network(dict(features))["sentence_embedding"][0, 0].backward()  # the sum of all is 0, after a LayerNorm
    assert network[0].auto_model.get_input_embeddings().weight.grad.abs().max() > 0


def test_what_is_assumed_of_a_folder_without_modules_is_said(tmp_path: Path) -> None:
    notes, folder = Notes(), save_encoder(tmp_path / "m")
    (folder / "modules.json").unlink()
    load_sentence_encoder(find_model(str(folder)), "cpu", notes)
    assert any("the mean of all tokens is used" in line for line in notes.lines())
