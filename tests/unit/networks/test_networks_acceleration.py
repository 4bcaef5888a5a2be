"""dtype=bf16, and dense layers by oneDNN where the unpadded forward pass does not apply."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from longrank.errors import InputError
from longrank.networks import acceleration
from longrank.networks.acceleration import check_dtype
from longrank.networks.model_files import find_model
from longrank.protocols import ScoringTask
from longrank.scoring.bi_encoder import BiEncoder
from longrank.scoring.cross_encoder import CrossEncoder
from longrank.types import Passage, Query
from tiny_models import FAMILIES, save_cross_encoder, save_encoder

pytestmark = pytest.mark.neural

TEXTS = ("the fox jumped over the dog", "", "a long river in the north of the city", "money", "who was the king " * 3)
TASK = ScoringTask(
    Query("q", "where is the river bank"), "d", tuple(Passage("d", n, t, 0, len(t)) for n, t in enumerate(TEXTS)), TEXTS
)


@pytest.fixture
def bf16() -> None:
    try:
        check_dtype("bf16", "cpu")
    except InputError:
        pytest.skip("this processor has no bf16 instructions")


@pytest.mark.usefixtures("bf16")
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", [CrossEncoder, BiEncoder])
def test_bf16_scores_are_close_to_float32_and_are_not_themselves_rounded(
    tmp_path: Path, family: str, kind: type[CrossEncoder | BiEncoder]
) -> None:
    save = save_cross_encoder if kind is CrossEncoder else save_encoder
    model = find_model(str(save(tmp_path / "m", family)))
    exact, rounded = kind(model), kind(model, dtype="bf16")
    (expected,), (found,) = exact.score([TASK]), rounded.score([TASK])
    assert found.scores.dtype == np.float32
    assert 0 < np.abs(found.scores - expected.scores).max() < 0.3 * np.ptp(expected.scores)
    assert (found.scores.view(np.uint32) & 0xFFFF).any()  # a bf16 number ends in 16 zero bits
    assert exact.fingerprint != rounded.fingerprint
    assert rounded.fingerprint.split().count("dtype=bf16") == 1


@pytest.mark.usefixtures("bf16")
def test_in_bf16_the_hidden_states_of_all_layers_come_out_in_float32(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModel

    model = find_model(str(save_encoder(tmp_path / "m")))
    encoder = AutoModel.from_pretrained(str(model.path), output_hidden_states=True).eval()
    acceleration.accelerate(encoder, dtype="bf16")
    with torch.inference_mode():
        found = encoder(torch.tensor([[2, 5, 3]]), attention_mask=torch.ones(1, 3, dtype=torch.int64))
    assert {states.dtype for states in (found.last_hidden_state, *found.hidden_states)} == {torch.float32}


@pytest.mark.usefixtures("bf16")
@pytest.mark.parametrize("family", ["bert", "albert"])
def test_in_bf16_a_pooler_stays_float32_however_the_encoder_is_computed(
    tmp_path: Path, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = find_model(str(save_cross_encoder(tmp_path / "m", family)))
    (usual,) = CrossEncoder(model, dtype="bf16").score([TASK])
    monkeypatch.setattr(acceleration, "can_unpad", lambda encoder: False)  # as on an accelerator
    padded = CrossEncoder(model, dtype="bf16")
    np.testing.assert_allclose(padded.score([TASK])[0].scores, usual.scores, atol=0.1)
    types = {name: str(one.dtype) for name, one in padded._network.named_parameters()}
    assert {one for name, one in types.items() if ".pooler." in name} == {"torch.float32"}
    assert {one for name, one in types.items() if "layer" in name and "pooler" not in name} == {"torch.bfloat16"}


@pytest.mark.usefixtures("bf16")
def test_rotary_frequencies_are_not_rounded(tmp_path: Path) -> None:
    network = CrossEncoder(find_model(str(save_cross_encoder(tmp_path / "m", "modernbert"))), dtype="bf16")._network
    frequencies = [one for name, one in network.named_buffers() if "inv_freq" in name]
    assert frequencies
    assert {str(one.dtype) for one in frequencies} == {"torch.float32"}


def test_bf16_is_refused_where_the_machine_has_no_instructions_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = find_model(str(save_cross_encoder(tmp_path / "m")))
    monkeypatch.setattr(acceleration, "multiplies_bf16", lambda device: False)
    with pytest.raises(InputError, match=r"no instructions for products in bf16.*got 'dtype=bf16, device=cpu'"):
        CrossEncoder(model, dtype="bf16", device="cpu")


def test_another_dtype_is_refused() -> None:
    with pytest.raises(InputError, match="dtype must be one of float32, bf16"):
        check_dtype("float16", "cpu")


@pytest.mark.parametrize("family", FAMILIES)
def test_without_onednn_scores_are_the_same_beyond_float_noise(
    tmp_path: Path, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = find_model(str(save_cross_encoder(tmp_path / "m", family)))
    (usual,) = CrossEncoder(model).score([TASK])
    monkeypatch.setattr("longrank.networks.dense.has_onednn", lambda: False)
    (found,) = CrossEncoder(model).score([TASK])
    np.testing.assert_allclose(found.scores, usual.scores, atol=1e-5)


def variations(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, BiEncoder, ScoringTask]]:
    """Yield the same work done otherwise: batches, threads, order, and Hugging Face's own forward pass."""
    import torch

    minilm, texts = find_model("minilm"), [f"{text} {n} " * (1 + 5 * n % 17) for n, text in enumerate(TEXTS * 4)]
    task = TASK._replace(texts=tuple(texts), passages=TASK.passages * 4)
    yield "usual", BiEncoder(minilm, device="cpu"), task
    for budget in (1, 300, 100_000):
        yield f"batch_tokens={budget}", BiEncoder(minilm, batch_tokens=budget, device="cpu"), task
    torch.set_num_threads(2)
    yield "two threads", BiEncoder(minilm, device="cpu"), task
    torch.set_num_threads(1)
    yield "reversed", BiEncoder(minilm, device="cpu"), task._replace(texts=task.texts[::-1])
    monkeypatch.setattr("longrank.networks.dense.has_onednn", lambda: False)
    yield "unpadded, by PyTorch's functions", BiEncoder(minilm, device="cpu"), task
    monkeypatch.setattr(acceleration, "can_unpad", lambda encoder: False)
    yield "padded, by transformers", BiEncoder(minilm, device="cpu"), task


def test_batches_threads_order_and_packing_change_minilms_scores_by_at_most_2e_6(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scores = {}
    for name, scorer, task in variations(monkeypatch):
        (result,) = scorer.score([task])
        scores[name] = result.scores[::-1] if name == "reversed" else result.scores
    bound = max(1e-4 * scores["usual"].std(), 2e-6)
    differences = {name: float(np.abs(one - scores["usual"]).max()) for name, one in scores.items()}
    assert max(differences.values()) <= bound, differences
    assert differences["padded, by transformers"] > 0
    ranks = {name: np.argsort(-one, kind="stable").tolist() for name, one in scores.items()}
    assert all(order == ranks["usual"] for order in ranks.values())
