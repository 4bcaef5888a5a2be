"""Checkpoints of Google's BERT and ELECTRA code: the names of their variables, read by tensorflow or a stand-in."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import longrank
from longrank.errors import InputError
from longrank.networks.model_files import find_model
from longrank.scoring.cross_encoder import CrossEncoder
from tiny_models import drop_dense, rewrite, save_cross_encoder

pytestmark = pytest.mark.neural

QUERY, PASSAGES = "where is the river bank", ["a long river in the north", "money", "the fox jumped"]
TRAINING = {
    "global_step": np.array(4),
    "beta1_power": np.array(0.9),
    "bert/pooler/dense/kernel/adam_m": np.ones((2, 2)),
}


def google_name(name: str) -> str:
    """The variable that Google's code has for a parameter of transformers; kernels are transposed."""
    name = name.replace("classifier.out_proj", "classifier").replace("classifier.weight", "output_weights")
    name = name.replace("classifier.bias", "output_bias").replace("LayerNorm.weight", "LayerNorm.gamma")
    name = re.sub(r"_embeddings\.weight$", "_embeddings", name.replace("LayerNorm.bias", "LayerNorm.beta"))
    return re.sub(r"layer\.(\d+)", r"layer_\1", re.sub(r"\.weight$", ".kernel", name)).replace(".", "/")


def variables_of(folder: Path, scope: str = "") -> dict[str, np.ndarray]:
    """Take a model's safetensors away, and return its parameters as variables."""
    from safetensors.numpy import load_file

    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    named = {google_name(name): values for name, values in tensors.items()}
    return {scope + name: values.T if name.endswith("kernel") else values for name, values in named.items()} | TRAINING


@pytest.fixture
def checkpoint(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Write variables as a checkpoint: by tensorflow, or where it is not installed, for a stand-in that reads them."""

    def write(folder: Path, variables: dict[str, np.ndarray]) -> Path:
        prefix = folder / "model.ckpt-100"
        if find_spec("tensorflow") is not None:
            import tensorflow

            names = list(variables)
            tensorflow.raw_ops.SaveV2(
                prefix=str(prefix),
                tensor_names=names,
                shape_and_slices=[""] * len(names),
                tensors=list(variables.values()),
            )
            return prefix
        for suffix in (".index", ".data-00000-of-00001"):
            Path(f"{prefix}{suffix}").write_bytes(b"")
        reader = SimpleNamespace(get_variable_to_shape_map=lambda: variables, get_tensor=variables.__getitem__)
        train = SimpleNamespace(load_checkpoint={str(prefix): reader}.__getitem__)
        monkeypatch.setitem(sys.modules, "tensorflow", SimpleNamespace(train=train))  # type: ignore[arg-type]
        return prefix

    return write


def logits(folder: Path) -> np.ndarray:
    return CrossEncoder(find_model(str(folder))).logits(QUERY, PASSAGES)


@pytest.mark.parametrize("scope", ["", "student/"])
def test_a_bert_of_tensorflow_scores_as_the_network_of_transformers(
    tmp_path: Path, checkpoint: Any, scope: str
) -> None:
    """As dl4marco-bert and PARADE's MS MARCO checkpoints, with and without the scope of a distilled network."""
    folder = save_cross_encoder(tmp_path / "bert")
    expected = logits(folder)
    (folder / "config.json").rename(folder / "bert_config.json")
    prefix = checkpoint(folder, variables_of(folder, scope))
    made = longrank.convert(folder, tmp_path / "new")
    assert made.head == "classification"
    np.testing.assert_array_equal(logits(tmp_path / "new"), expected)
    longrank.convert(prefix, tmp_path / "again")
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == (
        tmp_path / "new" / "model.safetensors"
    ).read_bytes()


def test_an_electra_of_tensorflow_has_one_layer_on_cls(tmp_path: Path, checkpoint: Any) -> None:
    folder = rewrite(save_cross_encoder(tmp_path / "electra", "electra"), drop_dense)
    expected = logits(folder)
    extra = {"discriminator_predictions/dense/kernel": np.ones((2, 2), np.float32)}
    checkpoint(folder, variables_of(folder) | extra)
    longrank.convert(folder, tmp_path / "new")
    np.testing.assert_array_equal(logits(tmp_path / "new"), expected)


def test_the_aggregator_of_a_parade_network_is_refused(tmp_path: Path, checkpoint: Any) -> None:
    folder = save_cross_encoder(tmp_path / "bert")
    checkpoint(folder, variables_of(folder) | {"parade_transformer/layer_0/output/dense/bias": np.ones(2, np.float32)})
    with pytest.raises(InputError, match=r"model\.ckpt-100\.index: holds the aggregator of a PARADE network"):
        longrank.convert(folder, tmp_path / "new")


def test_without_tensorflow_one_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = save_cross_encoder(tmp_path / "bert")
    (folder / "model.safetensors").rename(folder / "model.ckpt-100.index")
    with pytest.raises(InputError, match=r"has no data beside it \(got 'model\.ckpt-100\.data-00000-of-00001'\)"):
        longrank.convert(folder, tmp_path / "new")
    (folder / "model.ckpt-100.data-00000-of-00001").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(InputError, match=r"model\.ckpt-100\.index: .*the package tensorflow is not installed; pip"):
        longrank.convert(folder, tmp_path / "new")
    (folder / "model.ckpt-200.index").write_bytes(b"")
    with pytest.raises(InputError, match="holds 2 TensorFlow checkpoints"):
        longrank.convert(folder, tmp_path / "new")
