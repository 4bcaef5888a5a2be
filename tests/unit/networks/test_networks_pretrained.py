"""Parameters of a file that the network would leave out."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from longrank.errors import InputError
from longrank.networks import pretrained
from longrank.networks.acceleration import multiplies_bf16
from longrank.networks.model_files import find_model
from longrank.networks.pretrained import load_pretrained
from longrank.scoring.bi_encoder import BiEncoder
from longrank.scoring.cross_encoder import CrossEncoder
from longrank.scoring.decoder import Decoder
from longrank.scoring.monot5 import MonoT5
from tiny_language_models import SHORT_PROMPT, save_decoder, save_seq2seq
from tiny_models import save_cross_encoder, save_encoder, task

pytestmark = pytest.mark.neural

HARMLESS = (
    "bert.embeddings.position_ids",
    "bert.embeddings.token_type_ids",
    "roberta.pooler.dense.weight",
    "cls.predictions.decoder.weight",
    "cls.predictions.transform.dense.bias",
    "cls.seq_relationship.bias",
    "lm_head.dense.weight",
    "vocab_projector.weight",
    "discriminator_predictions.dense.bias",
    "predictions.bias",
    "transformer.h.0.attn.masked_bias",
    "model.layers.0.self_attn.rotary_emb.inv_freq",
)


def add(folder: Path, *names: str) -> Path:
    """Add parameters to a model's file."""
    import torch
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    save_file(load_file(path) | {name: torch.ones(2) for name in names}, path, {"format": "pt"})
    return folder


def test_a_classifier_made_from_a_decoder_is_no_decoder_that_answers(tmp_path: Path) -> None:
    """Its words are tied to its embeddings, so nothing is missing; the head it was trained for would be lost."""
    import transformers

    folder = save_decoder(tmp_path / "m", "Qwen3", max_tokens=400)
    config = transformers.AutoConfig.from_pretrained(folder, tie_word_embeddings=True, num_labels=1)
    transformers.Qwen3ForSequenceClassification(config).save_pretrained(folder)
    with pytest.raises(InputError, match=r"hold 1 parameters that the network would leave out.*got 'score\.weight'"):
        Decoder(find_model(str(folder)))


def test_relative_positions_that_transformers_has_dropped_are_refused(tmp_path: Path) -> None:
    name = "bert.encoder.layer.{}.attention.self.distance_embedding.weight"
    folder = add(save_cross_encoder(tmp_path / "m"), name.format(1), name.format(0))
    with pytest.raises(InputError, match=r"hold 2 parameters.*leave out.*got 'bert\.encoder\.layer\.0\..*distance"):
        CrossEncoder(find_model(str(folder)))


def test_a_cross_encoder_is_no_bi_encoder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"hold 2 parameters.*leave out.*got 'classifier\.bias'"):
        BiEncoder(find_model(str(save_cross_encoder(tmp_path / "m"))))


def test_outputs_of_pretraining_poolers_and_constants_are_left_out_as_nothing_reads_them(tmp_path: Path) -> None:
    usual = save_cross_encoder(tmp_path / "usual")
    more = add(save_cross_encoder(tmp_path / "more"), *HARMLESS)
    found, expected = (CrossEncoder(find_model(str(folder))) for folder in (more, usual))
    tasks = [task("river bank", ["money", "fish"])]
    assert found.score(tasks)[0].scores.tolist() == expected.score(tasks)[0].scores.tolist()
    BiEncoder(find_model(str(add(save_encoder(tmp_path / "encoder"), *HARMLESS))))


def test_the_network_is_read_from_the_folder_that_its_configuration_is_read_from(tmp_path: Path) -> None:
    """A folder that modules.json names holds the network; what lies beside it is another."""
    import json
    import shutil

    folder = save_cross_encoder(tmp_path / "m", n_outputs=1)
    shutil.copytree(save_cross_encoder(tmp_path / "inner"), folder / "0_Transformer")
    module = {"path": "0_Transformer", "type": "sentence_transformers.models.Transformer"}
    (folder / "modules.json").write_text(json.dumps([module]))
    tasks = [task("river bank", ["money", "fish"])]
    found, expected = (CrossEncoder(find_model(str(place))) for place in (folder, tmp_path / "inner"))
    assert found.score(tasks)[0].scores.tolist() == expected.score(tasks)[0].scores.tolist()


def in_bf16(folder: Path) -> Path:
    """Round the weights in a model's file, as those of most language models are."""
    import torch
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    save_file({name: one.to(torch.bfloat16) for name, one in load_file(path).items()}, path, {"format": "pt"})
    return folder


LANGUAGE_MODELS = {
    **{
        family: (Decoder, partial(save_decoder, family=family, max_tokens=400))
        for family in ("Qwen2", "Gemma2", "GPT2")
    },
    **{family: (MonoT5, partial(save_seq2seq, family=family)) for family in ("T5", "Bart")},
}


@pytest.mark.parametrize("family", LANGUAGE_MODELS)
def test_weights_that_are_bf16_are_loaded_so_with_the_same_scores(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not multiplies_bf16("cpu"):
        pytest.skip("this processor has no bf16 instructions")
    kind, save = LANGUAGE_MODELS[family]
    model = find_model(str(in_bf16(save(tmp_path / "m"))))
    given = [task("where is the river", ["a long river in the north", "money", ""])]

    def scores() -> bytes:
        scorer = kind(model, dtype="bf16", device="cpu", **({} if kind is MonoT5 else {"prompt": SHORT_PROMPT}))
        return scorer.score(given)[0].scores.tobytes()

    directly = scores()
    monkeypatch.setattr(pretrained, "_is_bf16", lambda model: False)
    assert directly == scores()


def test_only_a_file_of_bf16_weights_is_loaded_as_bf16(tmp_path: Path) -> None:
    import torch

    def dtype_of(folder: Path, dtype: str) -> object:
        return load_pretrained(find_model(str(folder)), "AutoModelForCausalLM", dtype).network.dtype

    folder = save_decoder(tmp_path / "m")
    assert dtype_of(folder, "bf16") == torch.float32
    assert dtype_of(in_bf16(folder), "bf16") == torch.bfloat16
    assert dtype_of(folder, "float32") == torch.float32
    assert dtype_of(add(folder, "lm_head.dense.bias"), "bf16") == torch.float32


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("hidden_size", 24, "'hidden_size' does not fit the weights, which have 16 (got 24)"),
        ("vocab_size", 7, "'vocab_size' does not fit the weights, which have "),
        ("max_position_embeddings", 9, "'max_position_embeddings' does not fit the weights, which have 48 (got 9)"),
        ("num_hidden_layers", "x", "'num_hidden_layers' has a wrong value (got 'x')"),
        ("id2label", {str(n): str(n) for n in range(3)}, "does not fit the shapes of the weights"),
    ],
)
def test_a_configuration_that_does_not_fit_is_named_with_key_and_value(
    key: str, value: Any, message: str, tmp_path: Path
) -> None:
    folder = save_cross_encoder(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {key: value}))
    with pytest.raises(InputError) as error:
        CrossEncoder(find_model(str(folder)))
    assert str(error.value).startswith(f"{folder / 'config.json'}: {message}")
