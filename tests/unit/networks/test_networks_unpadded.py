"""The unpadded forward pass against Hugging Face's own, one sequence at a time."""

from __future__ import annotations

import copy
import gc
import itertools
import os
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longrank.networks import unpadded
from longrank.networks.dense import ACTIVATIONS, dense, has_onednn, rounded_up
from longrank.networks.loading import loading
from longrank.networks.model_files import Model, find_model
from longrank.networks.unpadded import Unpadded, can_unpad
from longrank.service.freed_memory import _trimming
from tiny_models import MAX_TOKENS, save_encoder

pytestmark = pytest.mark.neural

FAMILIES = ("bert", "roberta", "electra", "distilbert")
LENGTHS = (3, 3, 5, 9, 9, 9, 2, MAX_TOKENS)


def encoder(folder: Path, family: str, **config: Any) -> Any:
    import torch
    from transformers import AutoConfig, AutoModel

    save_encoder(folder, family)
    if config:
        torch.manual_seed(3)
        network = AutoModel.from_config(AutoConfig.from_pretrained(folder, **config))
        network.save_pretrained(folder)
    return AutoModel.from_pretrained(folder).eval()


def inputs(network: Any, lengths: tuple[int, ...] = LENGTHS) -> dict[str, Any]:
    """Padded ids, mask and, where the network has them, segment ids; one padding token amid a text."""
    import torch

    torch.manual_seed(1)
    shape = (len(lengths), max(lengths))
    ids = torch.randint(4, network.config.vocab_size, shape)
    mask = torch.arange(shape[1]) < torch.tensor(lengths)[:, None]
    ids[~mask] = network.config.pad_token_id
    ids[lengths.index(max(lengths)), 1] = network.config.pad_token_id
    types = torch.randint(0, getattr(network.config, "type_vocab_size", 1), shape)
    features = {"input_ids": ids, "attention_mask": mask.long(), "token_type_ids": types}
    return features if hasattr(network.embeddings, "token_type_embeddings") else dict(list(features.items())[:2])


def one_by_one(network: Any, features: dict[str, Any]) -> list[np.ndarray]:
    """By transformers in double precision, without any padding.

    Its own float32 results are up to 9e-6 away from these: the tiny networks' weights are large.
    """
    import torch

    rows, network = [], copy.deepcopy(network).double()
    for n, length in enumerate(features["attention_mask"].sum(1).tolist()):
        with torch.inference_mode():
            output = network(**{name: values[n : n + 1, :length] for name, values in features.items()})
        rows.append(output.last_hidden_state[0].numpy())
    return rows


@pytest.mark.parametrize(("family", "threads"), [*itertools.product(FAMILIES, [1]), ("bert", 2)])
def test_hidden_states_are_those_of_transformers_and_padding_is_zeros(
    tmp_path: Path, family: str, threads: int
) -> None:
    import torch

    network = encoder(tmp_path / "m", family)
    features = inputs(network)
    expected = one_by_one(network, features)
    assert can_unpad(network)
    torch.set_num_threads(threads)
    with torch.inference_mode():
        found = Unpadded(network, first_only=False)(**features).last_hidden_state.numpy()
        first = Unpadded(network, first_only=True)(**features).last_hidden_state.numpy()
    torch.set_num_threads(1)
    for n, rows in enumerate(expected):
        # float32 sums in another order: up to 1.2e-5 here, by CPU, in states of up to 2
        np.testing.assert_allclose(found[n, : len(rows)], rows, rtol=0, atol=3e-5)
        np.testing.assert_allclose(first[n], rows[:1], rtol=0, atol=3e-5)
        assert not found[n, len(rows) :].any()


def test_the_pooler_is_computed_where_there_is_one(tmp_path: Path) -> None:
    import torch

    network = encoder(tmp_path / "m", "bert")
    features = inputs(network)
    with torch.inference_mode():
        expected = copy.deepcopy(network).double()(**features).pooler_output.numpy()
        found = Unpadded(network, first_only=True)(**features).pooler_output.numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def test_minilms_vectors_are_those_of_transformers_to_2e_6() -> None:
    import torch
    from transformers import AutoModel

    network = AutoModel.from_pretrained(find_model("minilm").path).eval()
    features = inputs(network, (20, 20, 7, 200, 200, 201))
    expected = [rows.mean(0) for rows in one_by_one(network, features)]
    with torch.inference_mode():
        hidden = Unpadded(network, first_only=False)(**features).last_hidden_state.numpy()
    for n, vector in enumerate(expected):
        found = hidden[n].sum(0) / features["attention_mask"][n].sum().item()
        assert np.abs(found / np.linalg.norm(found) - vector / np.linalg.norm(vector)).max() <= 2e-6


@pytest.mark.parametrize("name", [name for name in ACTIVATIONS if name != "gelu"])
def test_other_activations_are_computed_as_named(tmp_path: Path, name: str) -> None:
    import torch

    network = encoder(tmp_path / "m", "bert", hidden_act=name)
    features = inputs(network)
    expected = one_by_one(network, features)
    with torch.inference_mode():
        found = Unpadded(network, first_only=True)(**features).last_hidden_state.numpy()
    np.testing.assert_allclose(found[:, 0], [rows[0] for rows in expected], rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "config", [{"hidden_act": "silu"}, {"is_decoder": True}, {"position_embedding_type": "relative_key"}]
)
def test_a_configuration_that_computes_something_else_is_left_to_transformers(
    tmp_path: Path, config: dict[str, object]
) -> None:
    network = encoder(tmp_path / "m", "bert")
    assert can_unpad(network)
    for name, value in config.items():
        setattr(network.config, name, value)
    assert not can_unpad(network)


def test_albert_is_left_to_transformers(tmp_path: Path) -> None:
    assert not can_unpad(encoder(tmp_path / "m", "albert"))


def test_an_input_that_is_not_known_is_refused(tmp_path: Path) -> None:
    network = encoder(tmp_path / "m", "bert")
    with pytest.raises(TypeError, match="position_ids"):
        Unpadded(network, first_only=False)(**inputs(network), position_ids=inputs(network)["input_ids"])


def test_the_memory_of_a_network_is_freed_with_its_last_name(tmp_path: Path) -> None:
    network = encoder(tmp_path / "m", "bert")
    network.forward = Unpadded(network, first_only=True)
    weights = weakref.ref(network.embeddings.word_embeddings.weight)
    gc.disable()
    try:
        del network
        assert weights() is None
    finally:
        gc.enable()


def test_the_fused_weights_are_the_networks_own(tmp_path: Path) -> None:
    """The network keeps working, and holds its query, key and value weights once."""
    import torch

    network = encoder(tmp_path / "m", "roberta")
    features = inputs(network)
    with torch.inference_mode():
        before = network(**features).last_hidden_state.numpy()
        Unpadded(network, first_only=False)
        np.testing.assert_array_equal(network(**features).last_hidden_state.numpy(), before)
    attention = network.encoder.layer[0].attention.self
    assert attention.query.weight.untyped_storage().data_ptr() == attention.value.weight.untyped_storage().data_ptr()


@pytest.mark.parametrize("onednn", [True, False])
@pytest.mark.parametrize("activation", [None, *ACTIVATIONS])
def test_a_dense_layer_is_its_formula(monkeypatch: pytest.MonkeyPatch, activation: str | None, onednn: bool) -> None:
    import torch
    from scipy.special import erf

    monkeypatch.setattr("longrank.networks.dense.has_onednn", lambda: onednn)
    random = np.random.default_rng(5)
    x, weight, bias = random.normal(size=(7, 24)), random.normal(size=(33, 24)), random.normal(size=33)
    y = x @ weight.T + bias
    formulas = {
        None: y,
        "relu": np.maximum(y, 0),
        "gelu": y / 2 * (1 + erf(y / np.sqrt(2))),
    }
    tanh = y / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3)))
    with torch.inference_mode():
        found = dense(*(torch.from_numpy(one).float() for one in (x, weight, bias)), activation)
    np.testing.assert_allclose(found.numpy(), formulas.get(activation, tanh), atol=2e-5)


def test_rows_are_filled_up_to_few_numbers_and_by_little() -> None:
    """So that a kernel is seldom compiled: a 16th of the power of two below, and at least eight rows."""
    assert [rounded_up(n) for n in (1, 8, 9, 255, 257, 1800, 2048, 2049)] == [8, 8, 16, 256, 272, 1856, 2048, 2176]
    assert len({rounded_up(n) for n in range(1024, 2049)}) == 17
    assert all(n <= rounded_up(n) <= max(n + 7, n * 17 / 16) for n in range(1, 5000))


@pytest.mark.parametrize("rows", [8, 24])
def test_how_many_rows_are_fed_forward_at_once_changes_nothing_beyond_float_noise(
    rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    network = encoder(tmp_path / "m", "bert")
    features = inputs(network)
    forward = Unpadded(network, first_only=False)
    with torch.inference_mode():
        usual = forward(**features).last_hidden_state
        monkeypatch.setattr(unpadded, "_ROWS_AT_ONCE", rows)
        assert torch.allclose(forward(**features).last_hidden_state, usual, atol=1e-5)


KERNELS = """
import ctypes, torch
from benchmarks.memory import unmapped
from longrank.networks.dense import dense, keep_few_kernels, rounded_up

def held():
    ctypes.CDLL(None).malloc_trim(0)
    return unmapped()

keep_few_kernels()
layers = [torch.ones(16 * n, 16) for n in (1, 2, 3, 4)]
with torch.inference_mode():
    dense(torch.ones(8, 16), layers[0], None)
    before = held()
    for rows in sorted({rounded_up(n) for n in range(1, 2049)}):
        for weight in layers:
            dense(torch.ones(rows, 16), weight, None)
print(held() - before)
"""


@pytest.mark.slow
def test_the_memory_of_kernels_is_bounded() -> None:
    """320 products have a kernel each; 128 are kept, unless the user says another number."""
    if _trimming() is None or not has_onednn():  # asked here: it imports torch
        pytest.skip("needs glibc, and PyTorch with oneDNN")

    def growth(**variables: str) -> int:
        known = {name: value for name, value in os.environ.items() if not name.endswith("PRIMITIVE_CACHE_CAPACITY")}
        command = [sys.executable, "-c", KERNELS]
        return int(subprocess.run(command, check=True, capture_output=True, env=known | variables).stdout)

    assert growth() < 0.7 * growth(ONEDNN_PRIMITIVE_CACHE_CAPACITY="1024")


def test_a_model_is_loaded_with_few_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    capacity, old = "ONEDNN_PRIMITIVE_CACHE_CAPACITY", "DNNL_PRIMITIVE_CACHE_CAPACITY"
    others = {name: value for name, value in os.environ.items() if name not in (capacity, old)}
    for said, expected in ((dict[str, str](), "128"), ({capacity: "7"}, "7"), ({old: "7"}, None)):
        monkeypatch.setattr(os, "environ", others | said)
        with loading(Model("m", Path("m"), Path("m"), "")):
            assert os.environ.get(capacity) == expected
