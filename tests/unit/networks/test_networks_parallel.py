from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from late_models import LAYOUTS, save_colbert
from longrank.networks.inference import note_precision
from longrank.networks.learned_sparse import SparseModel
from longrank.networks.model_files import find_model
from longrank.networks.parallel import side_by_side
from longrank.networks.sentence_encoder import unit_rows
from longrank.scoring import make_scorer
from longrank.scoring.cross_encoder import CrossEncoder
from longrank.types import Notes, Query
from sparse_models import save_splade
from tiny_models import save_cross_encoder, task

pytestmark = pytest.mark.neural


@pytest.fixture
def three_threads() -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("three_threads")
def test_results_come_in_order_from_as_many_threads_each_with_one_of_pytorchs() -> None:
    import torch

    together = threading.Barrier(3, timeout=200)  # passed only if three run at a time

    def work(item: int) -> tuple[int, int, bool]:
        together.wait()
        return item, torch.get_num_threads(), torch.is_inference_mode_enabled()

    assert list(side_by_side(work, range(6), "cpu")) == [(n, 1, True) for n in range(6)]
    assert torch.get_num_threads() == 3
    fresh: list[int] = []
    thread = threading.Thread(target=lambda: fresh.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert fresh == [3]


@pytest.mark.usefixtures("three_threads")
def test_few_items_have_a_thread_each_too() -> None:
    import torch

    assert list(side_by_side(lambda item: torch.get_num_threads(), range(1), "cpu")) == [1]
    assert list(side_by_side(lambda item: item, range(0), "cpu")) == []
    assert torch.get_num_threads() == 3


@pytest.mark.usefixtures("three_threads")
def test_accelerators_are_served_one_after_the_other() -> None:
    here = threading.get_ident()
    assert list(side_by_side(lambda item: threading.get_ident(), range(6), "cuda")) == [here] * 6


@pytest.mark.usefixtures("three_threads")
def test_an_error_ends_the_work_and_is_passed_on() -> None:
    import torch

    def work(item: int) -> int:
        if item == 2:
            raise RuntimeError("broken")
        return item

    results = side_by_side(work, range(1000), "cpu")
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(RuntimeError, match="broken"):
        next(results)
    assert torch.get_num_threads() == 3


def test_logits_are_float32_whatever_the_calling_program_does(tmp_path: Path) -> None:
    import torch

    notes = Notes()
    model = find_model(str(save_cross_encoder(tmp_path / "m")))
    with torch.autocast("cpu", dtype=torch.float16):
        scorer = CrossEncoder(model, device="cpu", notes=notes)
    plain = scorer.logits("the fish", ["the long river", "a bank"])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        np.testing.assert_array_equal(scorer.logits("the fish", ["the long river", "a bank"]), plain)
    assert "products" not in str(notes.lines())


@pytest.mark.usefixtures("rounded_products")
def test_rounded_products_of_the_calling_program_are_noted(tmp_path: Path) -> None:
    notes = Notes()
    scorer = CrossEncoder(find_model(str(save_cross_encoder(tmp_path / "m"))), device="cpu", notes=notes)
    scorer.logits("the fish", ["the long river", "a bank"])
    sparse, of_query = SparseModel(find_model(str(save_splade(tmp_path / "sparse"))), Notes()), Notes()
    sparse.query_weights(Query("q", "the river"), of_query)
    assert "this program lets PyTorch round" in "\n".join(of_query.lines())
    assert "this program lets PyTorch round float32 products (precision '" in "\n".join(notes.lines())


def test_queries_and_passages_of_late_and_sparse_models_are_encoded_in_float32(tmp_path: Path) -> None:
    import torch

    late = make_scorer("colbert", index=None, model=str(save_colbert(tmp_path / "late", LAYOUTS[0])), notes=Notes())
    sparse = SparseModel(find_model(str(save_splade(tmp_path / "sparse"))), Notes())

    def values() -> list[np.ndarray]:
        (scored,) = late.score([task("river bank", ["a river", "the moon"])])
        rows, query = sparse.encode(["a long river", "moon"]), sparse.query_weights(Query("q", "the river"), Notes())
        return [scored.scores, rows.weights, query[1]]

    plain = values()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = values()
    for one, other in zip(inside, plain, strict=True):
        np.testing.assert_array_equal(one, other)


def test_rows_are_scaled_where_the_calling_program_lets_numpy_raise() -> None:
    with np.errstate(all="raise"):
        assert unit_rows(np.array([[1e-30, 2.0]], np.float32)).tolist() == [[np.float32(5e-31), 1.0]]


def test_precision_may_be_set_for_each_backend() -> None:
    import torch

    matmul = getattr(torch.backends.mkldnn, "matmul", None)
    if not hasattr(matmul, "fp32_precision"):
        pytest.skip("needs PyTorch 2.9")
    before, notes = matmul.fp32_precision, Notes()
    note_precision("cpu", notes)
    assert notes.lines() == []
    matmul.fp32_precision = "bf16"  # get_float32_matmul_precision raises an error now
    try:
        note_precision("cuda:0", notes)
        assert notes.lines() == []
        note_precision("cpu", notes)
    finally:
        matmul.fp32_precision = before
    assert "(precision 'bf16')" in notes.lines()[0]


@pytest.mark.usefixtures("three_threads")
def test_logits_have_the_same_bytes_with_one_thread_and_with_three(tmp_path: Path) -> None:
    import torch

    scorer = CrossEncoder(find_model(str(save_cross_encoder(tmp_path / "m"))), batch_tokens=64, device="cpu")
    passages = ["the long river " * (1 + n % 12) for n in range(40)]
    torch.set_num_threads(3)
    several = scorer.logits("the fish", passages)
    torch.set_num_threads(1)
    np.testing.assert_array_equal(scorer.logits("the fish", passages), several)
