"""What `longrank bench` counts, against counting by hand; times are not asserted."""

from __future__ import annotations

from pathlib import Path

import pytest

from exports import cache_in, needs
from longrank.errors import InputError
from longrank.networks.model_files import find_model
from longrank.scoring import speed
from longrank.scoring.cross_encoder import CrossEncoder
from tiny_models import save_cross_encoder, save_encoder

pytestmark = pytest.mark.neural

H, FEED, LAYERS, L = 16, 32, 2, 24  # of the tiny models


def whole_layer(tokens: int) -> int:
    """Multiplications and additions of one layer for one sequence: four projections, feed-forward, attention."""
    return 2 * tokens * (4 * H * H + 2 * H * FEED) + 4 * tokens * tokens * H


def first_token_of_layer(tokens: int, rows: float) -> float:
    """Keys and values of all, attention of one token, and all else of as many rows as dense layers are filled up to."""
    return 2 * tokens * 2 * H * H + 4 * tokens * H + rows * 2 * (2 * H * H + 2 * H * FEED)


@pytest.mark.parametrize("onednn", [True, False])
def test_operations_of_a_cross_encoder_are_those_counted_by_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, onednn: bool
) -> None:
    monkeypatch.setattr("longrank.networks.dense.has_onednn", lambda: onednn)
    scorer = CrossEncoder(find_model(str(save_cross_encoder(tmp_path / "m"))), max_tokens=L, device="cpu")
    head = 2 * H * H + 2 * H * 2  # pooler, two outputs
    rows = 8 / 3 if onednn else 1
    expected = 3 * ((LAYERS - 1) * whole_layer(L) + first_token_of_layer(L, rows) + head)
    assert speed.count_operations(lambda: scorer.logits("the fish", ["river " * 50] * 3)) == expected


def test_operations_of_an_encoder_layer_of_pytorch_are_counted() -> None:
    import torch

    layer = torch.nn.TransformerEncoderLayer(8, 2, 32, batch_first=True).eval()
    inputs, padding = torch.randn(1, 5, 8), torch.tensor([[False] * 4 + [True]])
    with torch.inference_mode():
        counted = speed.count_operations(lambda: layer(inputs, src_key_padding_mask=padding))
    assert counted == 5 * 2 * (4 * 8 * 8 + 2 * 8 * 32) + 4 * 5 * 5 * 8
    assert torch.backends.mha.get_fastpath_enabled()


def test_operations_are_counted_whatever_the_number_of_threads(tmp_path: Path) -> None:
    scorer = CrossEncoder(find_model(str(save_cross_encoder(tmp_path / "m"))), batch_tokens=L, device="cpu")
    counts = []
    for threads in (1, 2):
        speed.use_threads(threads)
        counts.append(speed.count_operations(lambda: scorer.logits("the fish", ["river " * 50] * 4)))
    speed.use_threads(1)
    assert counts[0] == counts[1] > 0


def test_rates_are_those_of_the_median_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """667 passages of 24 tokens are 16,000 tokens; a document of 2,000 tokens has 84 of them."""
    folder = str(save_encoder(tmp_path / "m"))
    monkeypatch.setattr(speed, "median_seconds", lambda work, seconds: 0.5)
    monkeypatch.setattr(speed, "matrix_peak", lambda dtype, device: 10.0)  # GFLOP/s
    (row,) = speed.measure("bi-encoder", folder, [L], ["float32"], device="cpu")
    assert (row.passages, row.tokens, row.documents) == (1334, 1334 * L, pytest.approx(1334 / 84))
    passages = 667 * (LAYERS * whole_layer(L) + 2 * H * H)  # and the pooler
    assert row.gflops * 1e9 * 0.5 == pytest.approx(passages, rel=2e-2)  # and the query, and rows filled up
    assert row.share == row.gflops / 10


@needs("openvino")
def test_of_another_backend_the_operations_are_those_of_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(save_encoder(tmp_path / "m"))
    monkeypatch.setattr(speed, "median_seconds", lambda work, seconds: work() and 0.5)
    monkeypatch.setattr(speed, "matrix_peak", lambda dtype, device: 10.0)
    with cache_in(tmp_path):
        rows = [
            next(speed.measure("bi-encoder", folder, [L], ["float32"], backend=backend, device="cpu"))
            for backend in ("torch", "openvino")
        ]
    assert [row.backend for row in rows] == ["torch", "openvino"]
    assert rows[0].gflops == rows[1].gflops > 0


def test_passages_have_exactly_the_length_and_are_never_the_same(tmp_path: Path) -> None:
    rounds = speed._rounds(L)
    first, second = next(rounds), next(rounds)
    assert first[0].texts != second[0].texts
    scorer = CrossEncoder(find_model(str(save_cross_encoder(tmp_path / "m"))), max_tokens=L)
    packed = scorer._feeder.packer.pairs(first[0].query.text, first[0].texts)
    assert {len(one.ids) for one in packed} == {L}


def test_the_median_of_at_least_three_rounds_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 5.0, 10.0, 11.0, 20.0, 22.0])
    monkeypatch.setattr(speed.time, "perf_counter", lambda: next(clock))
    assert speed.median_seconds(lambda: None, 0) == 2.0


def test_a_matrix_peak_is_a_rate_and_the_machine_has_a_name() -> None:
    assert speed.matrix_peak(repeats=1) > 0
    assert speed.matrix_peak("int8", repeats=1) > 0
    assert {"processor", "threads", "torch"} <= speed.machine().keys()
    assert speed.machine()["processor"]


def test_a_length_that_the_model_cannot_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="max_tokens must be between 8 and 32"):
        list(speed.measure("bi-encoder", str(save_encoder(tmp_path / "m")), [33], ["float32"], device="cpu"))
