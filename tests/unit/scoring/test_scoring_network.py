"""Models that load, and would score without a word, but wrongly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from longrank.errors import InputError
from longrank.scoring.bi_encoder import BiEncoder
from longrank.scoring.cross_encoder import CrossEncoder
from longrank.scoring.models import find_model
from tiny_models import save_cross_encoder, save_encoder

pytestmark = pytest.mark.neural


def test_an_encoder_without_a_head_is_no_cross_encoder(tmp_path: Path) -> None:
    folder = save_encoder(tmp_path / "m")
    with pytest.raises(InputError, match=r"the weights lack 2 parameters.*would be random.*got 'classifier\.bias'"):
        CrossEncoder(find_model(str(folder)))


def test_an_encoder_whose_weights_have_other_names_is_refused(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = save_encoder(tmp_path / "m") / "model.safetensors"
    save_file({f"other.{name}": values for name, values in load_file(weights).items()}, weights, {"format": "pt"})
    with pytest.raises(InputError, match=r"the weights lack .* would be random"):
        BiEncoder(find_model(str(tmp_path / "m")))


def test_an_encoder_without_a_pooler_is_whole_since_nothing_reads_it(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = save_encoder(tmp_path / "m") / "model.safetensors"
    kept = {name: values for name, values in load_file(weights).items() if "pooler" not in name}
    assert len(kept) < len(load_file(weights))
    save_file(kept, weights, {"format": "pt"})
    assert BiEncoder(find_model(str(tmp_path / "m"))).dimension == 16


def test_weights_that_are_not_numbers_are_refused_by_name(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = save_cross_encoder(tmp_path / "m") / "model.safetensors"
    tensors = load_file(weights)
    tensors["bert.encoder.layer.1.output.dense.bias"][3] = float("nan")
    save_file(tensors, weights, {"format": "pt"})
    with pytest.raises(InputError, match=r"NaN or an infinity.*layer\.1\.output\.dense\.bias"):
        CrossEncoder(find_model(str(tmp_path / "m")))


def test_a_vocabulary_larger_than_the_embeddings_is_refused(tmp_path: Path) -> None:
    folder = save_cross_encoder(tmp_path / "m")
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"]["beyond"] = 5000
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(InputError, match=r"token ids reach 5000, the network knows \d+ tokens"):
        CrossEncoder(find_model(str(folder)))


def test_a_model_the_library_cannot_load_is_one_line(tmp_path: Path) -> None:
    folder = save_cross_encoder(tmp_path / "m")
    (folder / "config.json").write_text('{"model_type": "unheard-of"}')
    with pytest.raises(InputError, match="the model cannot be loaded") as caught:
        CrossEncoder(find_model(str(folder)))
    assert "\n" not in str(caught.value)
