"""Encoders computed by OpenVINO and ONNX Runtime: the scores of PyTorch, whatever batches and threads."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from exports import cache_in, needs
from longrank.errors import InputError, LongRankError, MissingExtra
from longrank.networks import acceleration, backends
from longrank.networks.acceleration import check_dtype
from longrank.networks.backends import check_backend, onnx_runtime, openvino_runtime
from longrank.networks.backends.exported import _put
from longrank.networks.backends.forward import Exported
from longrank.networks.model_files import find_model
from longrank.scoring.bi_encoder import BiEncoder
from longrank.scoring.cross_encoder import CrossEncoder
from longrank.types import Notes
from slow_values import slow
from tiny_models import save_cross_encoder, save_encoder, task

QUERY = "where is the river bank"
PASSAGES = [
    "the fox jumped over the dog",
    "",
    "a long river in the north of the city, and a boat " * 6,
    "money",
    "who was the king? the answer is over under the blue water",
]
openvino, onnx = needs("openvino"), needs("onnx")


@pytest.fixture(scope="module", autouse=True)
def exports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with cache_in(tmp_path_factory.mktemp("cache")) as folder:
        yield folder


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_cross_encoder(tmp_path_factory.mktemp("bert") / "m"))


def said(notes: Notes) -> list[str]:
    """Notes without the one that the tiny model's head is new."""
    return [line for line in notes.lines() if not line.startswith("the head of")]


def scores(scorer: CrossEncoder | BiEncoder, passages: list[str] = PASSAGES) -> np.ndarray:
    return scorer.score([task(QUERY, passages)])[0].scores


def check_same(kind: type[CrossEncoder | BiEncoder], folder: Path, backend: str) -> None:
    model = find_model(str(folder))
    expected = scores(kind(model, device="cpu"))
    assert np.ptp(expected) > 1e-3  # the passages can be told apart
    np.testing.assert_allclose(scores(kind(model, backend=backend)), expected, atol=1e-5)


@openvino
@pytest.mark.neural
@pytest.mark.parametrize("family", ["bert", "modernbert", *slow("roberta", "albert", "electra", "distilbert", "mpnet")])
def test_openvinos_scores_are_those_of_torch(tmp_path: Path, family: str) -> None:
    if family in {"albert", "electra"} and "ONEDNN_MAX_CPU_ISA" in os.environ:
        pytest.skip("OpenVINO 2026.4 crashes on narrower embeddings where AVX-512 is there but masked")
    check_same(CrossEncoder, save_cross_encoder(tmp_path / "m", family), "openvino")


@openvino
@pytest.mark.neural
@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_padding_is_no_part_of_a_mean_over_openvinos_output(tmp_path: Path, family: str) -> None:
    """ModernBERT's window holds nothing but padding beside a padded token, and OpenVINO makes NaN of that."""
    check_same(BiEncoder, save_encoder(tmp_path / "m", family), "openvino")


@openvino
@pytest.mark.neural
def test_padding_beyond_a_window_leaves_no_trace_in_layers_without_a_window(tmp_path: Path) -> None:
    """Layer 3 of ModernBERT attends to all tokens, after layers with a window."""
    folder = save_cross_encoder(tmp_path / "m", "modernbert", num_hidden_layers=4)
    check_same(CrossEncoder, folder, "openvino")


@onnx
@pytest.mark.neural
@pytest.mark.parametrize("family", ["bert", *slow("distilbert")])
def test_onnx_runtimes_scores_are_those_of_torch(tmp_path: Path, family: str) -> None:
    check_same(CrossEncoder, save_cross_encoder(tmp_path / "m", family), "onnx")


@openvino
@pytest.mark.neural
def test_minilms_cosines_are_those_of_torch() -> None:
    minilm = find_model("minilm")
    expected, found = (scores(BiEncoder(minilm, device="cpu", backend=name)) for name in ("torch", "openvino"))
    np.testing.assert_allclose(found, expected, atol=1e-5)


@openvino
@pytest.mark.neural
def test_batches_and_order_change_openvinos_scores_by_float_noise(bert: str) -> None:
    model = find_model(bert)
    usual = scores(CrossEncoder(model, backend="openvino"))
    for budget in (1, 64, 100_000):
        found = scores(CrossEncoder(model, backend="openvino", batch_tokens=budget))
        assert np.abs(found - usual).max() <= 1e-4 * usual.std()
    found = scores(CrossEncoder(model, backend="openvino"), PASSAGES[::-1])
    assert np.abs(found[::-1] - usual).max() <= 1e-4 * usual.std()


@openvino
@onnx
@pytest.mark.neural
@pytest.mark.parametrize("backend", ["openvino", "onnx"])
def test_bytes_do_not_depend_on_the_number_of_threads(bert: str, backend: str) -> None:
    import torch

    model, results = find_model(bert), []
    for threads in (1, 3):
        torch.set_num_threads(threads)
        results.append(scores(CrossEncoder(model, backend=backend, batch_tokens=64), PASSAGES * 5).tobytes())
    torch.set_num_threads(1)
    assert results[0] == results[1]


@openvino
@pytest.mark.neural
def test_in_bf16_scores_are_close_to_float32_and_are_not_themselves_rounded(bert: str) -> None:
    try:
        check_dtype("bf16", "cpu")
    except InputError:
        pytest.skip("this processor has no bf16 instructions")
    exact, rounded = (CrossEncoder(find_model(bert), backend="openvino", dtype=one) for one in ("float32", "bf16"))
    difference = np.abs(scores(rounded) - scores(exact)).max()
    assert 0 < difference < 0.3 * np.ptp(scores(exact))
    assert (scores(rounded).view(np.uint32) & 0xFFFF).any()
    assert rounded.fingerprint.endswith("device=cpu dtype=bf16 backend=openvino")


@pytest.mark.neural
def test_bf16_is_refused_where_the_machine_has_no_instructions_for_it(
    bert: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acceleration, "multiplies_bf16", lambda device: False)
    monkeypatch.setattr(backends, "find_spec", lambda package: package)
    with pytest.raises(InputError, match="no instructions for products in bf16"):
        CrossEncoder(find_model(bert), backend="openvino", dtype="bf16")


@openvino
@pytest.mark.neural
def test_a_second_load_exports_nothing(bert: str, exports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, notes = find_model(bert), Notes()
    first = scores(CrossEncoder(model, backend="openvino"))
    monkeypatch.setattr(openvino_runtime, "export", None)
    again = CrossEncoder(model, backend="openvino", notes=notes)
    assert scores(again).tobytes() == first.tobytes()
    assert said(notes) == []
    assert not list(exports.glob(".*"))


@openvino
@pytest.mark.neural
@pytest.mark.parametrize("damage", ["changed", *slow("cut", "missing")])
def test_a_damaged_export_is_made_again_and_that_is_said(tmp_path: Path, bert: str, damage: str) -> None:
    with cache_in(tmp_path) as folder:
        first = scores(CrossEncoder(find_model(bert), backend="openvino"))
        (weights,) = folder.glob("*/encoder.bin")
        raw = bytearray(weights.read_bytes())
        raw[100] ^= 1
        weights.unlink()
        if damage != "missing":
            weights.write_bytes(raw[:1000] if damage == "cut" else raw)
        notes = Notes()
        assert scores(CrossEncoder(find_model(bert), backend="openvino", notes=notes)).tobytes() == first.tobytes()
        assert [line.split(":")[0] for line in said(notes)] == [
            "an exported graph is damaged and made again",
            f"'m' was exported for openvino; the graph is kept in {weights.parent}",
        ]
        assert [path.name for path in folder.iterdir()] == [weights.parent.name]


@openvino
@pytest.mark.neural
def test_of_two_processes_that_export_at_once_the_first_one_counts(tmp_path: Path, bert: str) -> None:
    with cache_in(tmp_path) as folder:
        CrossEncoder(find_model(bert), backend="openvino")
        (made,) = folder.iterdir()
        other = folder / ".exporting-other"
        shutil.copytree(made, other)
        (made / "mark").touch()  # is in no manifest, so it does no harm
        _put(other, made)
        assert (made / "mark").exists()


@openvino
@pytest.mark.neural
def test_what_openvino_cannot_convert_is_said_in_one_line_and_nothing_is_left(
    tmp_path: Path, bert: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise RuntimeError("\x1b[96mno rule for aten::odd\x1b[0m\nand much more")

    monkeypatch.setattr(openvino_runtime, "export", failing)
    expected = "cannot be exported for openvino: no rule for aten::odd; use backend=torch"
    with cache_in(tmp_path) as folder, pytest.raises(InputError, match=expected):
        CrossEncoder(find_model(bert), backend="openvino")
    assert list(folder.iterdir()) == []


@openvino
@pytest.mark.neural
@pytest.mark.parametrize("family", ["longformer", *slow("deberta-v2")])
def test_a_graph_that_computes_something_else_than_the_network_is_refused(tmp_path: Path, family: str) -> None:
    """Longformer's windows are taken for constants; DeBERTa's distances fall into other buckets by rounding."""
    folder = save_cross_encoder(tmp_path / "m", family)
    with pytest.raises(InputError, match="exported for openvino and the network give different results"):
        CrossEncoder(find_model(str(folder)), backend="openvino")


@openvino
@pytest.mark.neural
def test_a_graph_that_the_runtime_cannot_read_is_an_error_that_names_it(
    bert: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise RuntimeError("bad graph")

    CrossEncoder(find_model(bert), backend="openvino")
    monkeypatch.setattr(openvino_runtime, "load", failing)
    with pytest.raises(LongRankError, match="openvino cannot load the graph: bad graph"):
        CrossEncoder(find_model(bert), backend="openvino")


@openvino
@pytest.mark.neural
def test_only_another_backend_than_torch_is_in_the_fingerprint(bert: str) -> None:
    usual, other = (CrossEncoder(find_model(bert), device="cpu", backend=name) for name in ("torch", "openvino"))
    assert other.fingerprint == f"{usual.fingerprint} backend=openvino"


@openvino
def test_openvino_is_loaded_without_its_telemetry() -> None:
    openvino_runtime.openvino()
    from openvino.tools.ovc import telemetry_utils

    assert sys.modules["openvino_telemetry"] is None
    assert telemetry_utils.tm.__name__ == "openvino.tools.ovc.telemetry_stub"


@onnx
def test_onnx_runtime_refuses_bf16(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bf16"):
        onnx_runtime.load(tmp_path, bf16=True)


def test_what_a_backend_cannot_do_is_refused_with_what_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "find_spec", lambda package: package)
    for name, dtype, device, message in [
        ("tensorrt", "float32", "auto", "unknown backend .got 'tensorrt'"),
        ("openvin", "float32", "auto", "did you mean 'openvino'"),
        ("torch", "int8", "auto", "dtype must be one of float32, bf16 .got 'int8'.; use backend=openvino"),
        ("onnx", "bf16", "auto", "dtype must be one of float32 .got 'bf16'.; use backend=torch or backend=openvino"),
        ("onnx", "int8", "auto", "dtype must be one of float32 .got 'int8'.; use backend=openvino"),
        ("openvino", "float64", "auto", "dtype must be one of float32, bf16, int8 .got 'float64'.$"),
        ("openvino", "float32", "cuda", "backend=openvino computes on the CPU only .got 'cuda'.; use backend=torch"),
    ]:
        with pytest.raises(InputError, match=message):
            check_backend(name, dtype, device)
    assert check_backend("openvino", "int8", "auto") == check_backend("onnx", "float32", "cpu") == "cpu"
    assert check_backend("torch", "bf16", "cuda:1") == "cuda:1"


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "find_spec", lambda package: None if package == "nncf" else package)
    with pytest.raises(MissingExtra, match=r"backend=openvino needs the extra 'openvino'; pip install "):
        check_backend("openvino", "float32", "auto")


@pytest.mark.neural
def test_the_extra_is_named_before_a_model_is_loaded(bert: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "find_spec", lambda package: None)
    monkeypatch.setattr("longrank.scoring.cross_encoder.load_classifier", None)
    with pytest.raises(MissingExtra, match="needs the extra 'onnx'"):
        CrossEncoder(find_model(bert), backend="onnx")


@pytest.mark.neural
def test_words_as_token_types_are_refused() -> None:
    """XLM adds the words 0 and 1 for the types 0 and 1, and nothing where there are no types."""
    import torch
    import transformers

    config = transformers.XLMConfig(vocab_size=50, emb_dim=16, n_layers=1, n_heads=2)
    exported = Exported(
        transformers.XLMModel(config), lambda inputs: np.zeros((*inputs["input_ids"].shape, 16), np.float32)
    )
    ones = torch.ones(1, 3, dtype=torch.int64)
    assert exported(ones, ones).last_hidden_state.shape == (1, 3, 16)
    with pytest.raises(InputError, match=r"without a vocabulary of types .*\(got 'XLMModel'\); use backend=torch"):
        exported(ones, ones, ones)


@pytest.mark.neural
def test_a_head_that_reads_another_output_is_refused(tmp_path: Path) -> None:
    import torch
    import transformers

    folder = save_encoder(tmp_path / "m")
    encoder = transformers.AutoModel.from_pretrained(folder)
    found = Exported(encoder, lambda inputs: np.zeros((*inputs["input_ids"].shape, 16), np.float32))(
        torch.ones(1, 3, dtype=torch.int64), torch.ones(1, 3, dtype=torch.int64)
    )
    assert found.last_hidden_state.shape == (1, 3, 16)
    assert not hasattr(found, "cache")
    with pytest.raises(InputError, match=r"an output that graphs do not compute \(got 'cache'\)"):
        found.cache  # noqa: B018
