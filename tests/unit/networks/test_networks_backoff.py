from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from longrank.errors import LongRankError
from longrank.networks.backoff import halving
from longrank.networks.model_files import find_model
from longrank.scoring.cross_encoder import CrossEncoder
from longrank.types import Notes
from tiny_models import save_cross_encoder

pytestmark = pytest.mark.neural

CPU = "[enforce fail at alloc_cpu.cpp:132] DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes."
NOTE = "batches halved because memory ran out; smaller ones are faster"


def errors() -> list[Exception]:
    import torch

    return [
        RuntimeError(CPU),
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 GiB"),
        RuntimeError("could not create a primitive"),
        RuntimeError("could not create a memory object"),
        RuntimeError("could not execute a primitive"),
    ]


@pytest.mark.parametrize("n", range(6))
def test_a_batch_that_is_too_large_is_done_in_halves_in_order(n: int) -> None:
    notes = Notes()

    def work(batch: list[int]) -> list[int]:
        if len(batch) > 2:
            raise errors()[n]
        return [10 * position for position in batch]

    done = list(halving([5, 3, 8, 1, 2], work, notes))
    assert done == [([5, 3], [50, 30]), ([8], [80]), ([1, 2], [10, 20])]
    assert notes[NOTE] == 2


def test_no_memory_for_a_single_text_is_an_error_that_says_so() -> None:
    def work(batch: list[int]) -> None:
        raise errors()[0]

    with pytest.raises(LongRankError, match=r"^out of memory with a batch of one text: .*can't allocate memory"):
        list(halving([1, 2, 3], work, Notes()))


def test_what_onednn_may_mean_otherwise_is_said_to_be_likely() -> None:
    def work(batch: list[int]) -> None:
        raise RuntimeError("could not create a primitive")

    said = "most likely out of memory with a batch of one text: could not create a primitive"
    with pytest.raises(LongRankError, match=said):
        list(halving([1, 2, 3], work, Notes()))


ONEDNN_SHORT_OF_MEMORY = """
import resource, torch
from longrank.networks.backoff import _is_out_of_memory
from longrank.networks.dense import dense

torch.set_num_threads(1)
x, weight = torch.ones(4096, 768), torch.ones(3072, 768)
used = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmSize"))
resource.setrlimit(resource.RLIMIT_AS, ((used << 10) + (16 << 20), -1))
try:
    dense(x, weight, None, "gelu")
except RuntimeError as error:
    print(_is_out_of_memory(error), error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory of a process")
def test_whatever_the_dense_layer_says_without_memory_is_known() -> None:
    """The result alone takes 48 MiB, 16 are left; oneDNN's "could not create a primitive" where this was written."""
    done = subprocess.run([sys.executable, "-c", ONEDNN_SHORT_OF_MEMORY], check=True, capture_output=True, text=True)
    assert done.stdout.startswith("True ")


@pytest.mark.parametrize("said", ["shapes cannot be multiplied", "could not create a primitive descriptor"])
def test_another_error_is_passed_on_at_once(said: str) -> None:
    calls = []

    def work(batch: list[int]) -> None:
        calls.append(batch)
        raise RuntimeError(said)

    with pytest.raises(RuntimeError, match=said):
        list(halving([1, 2, 3], work, Notes()))
    assert len(calls) == 1


def test_a_network_that_runs_out_of_memory_gives_the_same_logits(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = Notes()
    scorer = CrossEncoder(find_model(str(save_cross_encoder(tmp_path_factory.mktemp("m") / "m"))), notes=notes)
    passages = ["the long river " * n for n in range(1, 12)]
    expected = scorer.logits("the fish", passages)
    forward = scorer._network.forward

    def short_of_memory(**features: object) -> object:
        if features["input_ids"].shape[0] > 3:  # type: ignore[attr-defined]
            raise RuntimeError(CPU)
        return forward(**features)

    monkeypatch.setattr(scorer._network, "forward", short_of_memory)
    found = scorer.logits("the fish", passages)
    assert notes[NOTE] > 0
    assert np.abs(found - expected).max() <= max(1e-4 * expected.std(), 2e-6)
