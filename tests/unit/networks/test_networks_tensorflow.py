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

INSTALLED = find_spec("tensorflow") is not None
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
        if INSTALLED:
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


_WIDTHS = {"bert": 16, "electra": 8}  # as wide as the word embeddings, since [CLS] of the aggregator is one


def parade(folder: Path, family: str, kind: str, positions: int) -> tuple[Any, dict[str, np.ndarray]]:
    """Make a classifier, and the variables of a PARADE network around it; return a function of passage vectors, too.

    The function computes the released code's formulas with transformers' own layers.
    """
    import torch
    from transformers import BertConfig
    from transformers.models.bert.modeling_bert import BertEncoder

    width = _WIDTHS[family]
    save_cross_encoder(folder, family, hidden_size=width)
    if family == "electra":
        rewrite(folder, drop_dense)
    small = {"hidden_size": width, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    torch.manual_seed(4)
    layers = BertEncoder(BertConfig(**small, attn_implementation="eager")).eval()
    place = torch.randn(positions + 1, width) if positions else torch.zeros(1, width)
    weight = torch.randn(width)
    variables = variables_of(folder)
    aggregator = {"cls_weight": weight.numpy()}
    if kind == "transformer":
        aggregator = {"clsid_tf": np.array([3])} | ({"passage_position_embedding": place.numpy()} if positions else {})
        for name, values in layers.state_dict().items():
            new = f"parade_transformer/{google_name(name)}"
            aggregator[new] = values.numpy().T if new.endswith("kernel") else values.numpy()
    start = (
        torch.from_numpy(variables[f"{family}/embeddings/word_embeddings"][3:4].copy())
        if kind == "transformer"
        else None
    )
    output = [torch.from_numpy(variables[f"output_{part}"].copy()) for part in ("weights", "bias")]

    def logits_of(passages: Any) -> Any:
        if kind == "attn":
            vector = ((passages @ weight).softmax(1)[:, :, None] * passages).sum(1)
        else:
            merged = torch.cat([start.expand(len(passages), 1, -1), passages], 1)  # type: ignore[union-attr]
            vector = layers(merged + (place[: merged.shape[1]] if positions else 0)).last_hidden_state[:, 0]
        return vector @ output[0].T + output[1]

    return logits_of, variables | aggregator


@pytest.mark.parametrize(
    ("family", "kind", "positions"), [("bert", "transformer", 0), ("electra", "transformer", 5), ("bert", "attn", 0)]
)
def test_a_parade_network_of_the_released_code_becomes_a_document_network(
    tmp_path: Path, checkpoint: Any, family: str, kind: str, positions: int
) -> None:
    import torch

    from longrank.models.folders import load_network

    folder = tmp_path / "parade"
    expected, variables = parade(folder, family, kind, positions)
    checkpoint(folder, variables)
    made = longrank.convert(folder, tmp_path / "new")
    assert made.head == f"parade-{kind}"
    network, _, record = load_network(tmp_path / "new")
    assert record == {"converted": "parade"}
    passages = torch.randn(3, 4, _WIDTHS[family])
    with torch.no_grad():
        found = network.logits(passages, torch.ones(3, 4, dtype=torch.bool))
        np.testing.assert_allclose(found, expected(passages), atol=1e-5)
    assert network.unit == "logprob"


def test_a_parade_network_without_a_part_is_refused(tmp_path: Path, checkpoint: Any) -> None:
    folder = tmp_path / "parade"
    _, variables = parade(folder, "bert", "transformer", 0)
    for lacking in ("parade_transformer/layer_1/output/dense/bias", "bert/pooler/dense/kernel", "output_bias"):
        checkpoint(folder, {name: values for name, values in variables.items() if name != lacking})
        with pytest.raises(InputError, match="lacks a tensor of its PARADE network"):
            longrank.convert(folder, tmp_path / "new")
    checkpoint(folder, variables | {"bert/other/kernel": np.ones((2, 2), np.float32)})
    with pytest.raises(InputError, match="has a tensor beside its PARADE network"):
        longrank.convert(folder, tmp_path / "new")


def test_a_parade_network_of_wrong_numbers_is_refused_by_the_checkpoints_name_and_nothing_is_written(
    tmp_path: Path, checkpoint: Any
) -> None:
    folder = tmp_path / "parade"
    _, variables = parade(folder, "bert", "transformer", 0)
    variables["output_bias"] = np.full_like(variables["output_bias"], np.nan)
    checkpoint(folder, variables)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError, match="hold a NaN or an infinity") as caught:
        longrank.convert(folder, tmp_path / "out")
    assert str(caught.value).startswith(f"{folder}/")
    assert sorted(tmp_path.iterdir()) == before


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
