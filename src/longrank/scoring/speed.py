"""Speed of a passage scorer on this machine, in passages per second and as a share of the matrix peak.

The matrix peak is the best rate of a large matrix product, measured beside the scorer. Operations are counted while the
network computes, so work that it leaves out (padding, tokens that the head does not read) does not count.
"""

from __future__ import annotations

import math
import os
import platform
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longrank.errors import MissingExtra
from longrank.networks.loading import choose_device
from longrank.protocols import PassageScorer, ScoringTask
from longrank.scoring import make_scorer
from longrank.types import Passage, Query

DOCUMENT_TOKENS = 2000
_ROUND_TOKENS = 16_000  # scored at a time: several batches
_SHAPES = ((2048, 384, 1536), (2048, 768, 3072), (4096, 1024, 1024))  # rows, inputs, outputs
_WORDS = [
    "the",
    "river",
    "of",
    "stone",
    "moved",
    "slowly",
    "under",
    "a",
    "blue",
    "house",
    "while",
    "seven",
    "boats",
    "carried",
    "bread",
    "to",
    "another",
    "town",
]


@dataclass(frozen=True, slots=True)
class Speed:
    """Speed of one scorer, dtype and length; rates are per second of wall time, with tokenisation.

    Attributes:
        scorer: the scorer's name.
        model: the model's name.
        dtype: dtype of the products.
        device: torch device.
        backend: backend of the encoder.
        length: L, tokens of each query and passage together.
        passages: passages per second.
        tokens: passages x L.
        documents: documents of 2,000 tokens, in ceil(2000 / L) passages each, per second.
        gflops: 1e9 products and additions per second.
        share: of the matrix peak, 0 .. 1.
    """

    scorer: str
    model: str
    dtype: str
    device: str
    backend: str
    length: int
    passages: float
    tokens: float
    documents: float
    gflops: float
    share: float


def measure(
    scorer: str,
    model: str,
    lengths: Sequence[int],
    dtypes: Sequence[str],
    *,
    device: str = "auto",
    backend: str = "torch",
    seconds: float = 5,
) -> Iterator[Speed]:
    """Score generated passages of each length in each dtype for some seconds; report the median round.

    Operations of backends other than PyTorch cannot be counted, so PyTorch's operations for the same passages are.

    Raises:
        InputError, MissingExtra, IntegrityError: as `longrank.scoring.make_scorer`.
    """
    device = choose_device(device if backend == "torch" or device != "auto" else "cpu")
    for dtype in dtypes:
        peak = None
        for length in lengths:
            scoring = _scorer(scorer, model, length, device, dtype, backend)
            watched = scoring if backend == "torch" else _scorer(scorer, model, length, device, "float32", "torch")
            peak = peak or matrix_peak(dtype, device)
            operations, taken = _measured(scoring, watched, length, seconds)
            rate, gflops = _n_passages(length) / taken, operations / taken / 1e9
            yield Speed(
                scorer=scorer,
                model=model,
                dtype=dtype,
                device=device,
                backend=backend,
                length=length,
                passages=rate,
                tokens=rate * length,
                documents=rate / math.ceil(DOCUMENT_TOKENS / length),
                gflops=gflops,
                share=gflops / peak,
            )


def _scorer(scorer: str, model: str, length: int, device: str, dtype: str, backend: str) -> PassageScorer:  # noqa: PLR0917
    choices = {"dtype": (dtype, "float32"), "backend": (backend, "torch")}  # not every scorer has these options
    options = {name: value for name, (value, default) in choices.items() if value != default}
    index: Any = None  # networks read passages only
    return make_scorer(scorer, index=index, model=model, options={"max_tokens": length, "device": device, **options})


def _measured(scoring: PassageScorer, watched: PassageScorer, length: int, seconds: float) -> tuple[int, float]:
    """Return the operations of a round by the scorer `watched`, and the seconds of a round by `scoring`."""
    rounds = _rounds(length)
    operations = count_operations(lambda: watched.score(next(rounds)))
    return operations, median_seconds(lambda: scoring.score(next(rounds)), seconds)


def use_threads(n: int) -> None:
    """Set the number of PyTorch's CPU threads.

    Raises:
        MissingExtra: PyTorch is not installed.
    """
    try:
        import torch
    except ModuleNotFoundError:
        raise MissingExtra("measuring networks", "neural") from None
    torch.set_num_threads(n)


def median_seconds(work: Callable[[], object], seconds: float) -> float:
    """Return the median wall time of a call, repeated for `seconds` and at least three times."""
    times: list[float] = []
    while len(times) < 3 or sum(times) < seconds:
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def matrix_peak(dtype: str = "float32", device: str = "cpu", repeats: int = 12) -> float:
    """Return the best rate of a matrix product, in GFLOP/s, of three shapes and (except int8) two libraries."""
    import torch

    from longrank.networks.dense import dense

    products = (dense, torch.nn.functional.linear) if dtype != "int8" else (_int8_product,)
    best = 0.0
    with torch.inference_mode():
        for rows, inputs, outputs in _SHAPES:
            x, weight = _random(rows, inputs, dtype, device), _random(outputs, inputs, dtype, device)
            for product in products:
                taken = min(_seconds(product, x, weight, device) for _ in range(repeats))
                best = max(best, 2e-9 * rows * inputs * outputs / taken)
    return best


def _random(rows: int, columns: int, dtype: str, device: str) -> Any:
    import torch

    if dtype == "int8":
        return torch.randint(-127, 128, (rows, columns), dtype=torch.int8, device=device)
    return torch.randn(rows, columns, dtype=torch.bfloat16 if dtype == "bf16" else torch.float32, device=device)


def _int8_product(x: Any, weight: Any, _: None) -> Any:
    import torch

    return torch._int_mm(x, weight.T)


def _seconds(product: Callable[..., Any], x: Any, weight: Any, device: str) -> float:
    import torch

    start = time.perf_counter()
    product(x, weight, None)
    if device != "cpu":
        getattr(torch, device).synchronize()
    return time.perf_counter() - start


def count_operations(work: Callable[[], object]) -> int:
    """Count the multiplications and additions of a call's matrix products."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    counters: dict[Any, Callable[..., int]] = {
        torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _of_attention
    }
    if hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        counters[torch.ops.mkldnn._linear_pointwise] = _of_dense
    threads, fused = torch.get_num_threads(), torch.backends.mha.get_fastpath_enabled()
    torch.set_num_threads(1)  # the counter sees only its own thread
    torch.backends.mha.set_fastpath_enabled(False)  # nor does it see into a fused encoder layer
    try:
        with FlopCounterMode(display=False, custom_mapping=counters) as counter:
            work()
    finally:
        torch.set_num_threads(threads)
        torch.backends.mha.set_fastpath_enabled(fused)
    return int(counter.get_total_flops())


def _of_dense(x: Any, weight: Any, *_: Any, **__: Any) -> int:
    return 2 * int(math.prod(x)) * int(weight[0])


def _of_attention(query: Any, key: Any, *_: Any, **__: Any) -> int:
    return 4 * int(math.prod(query)) * int(key[2])


def machine() -> dict[str, object]:
    """Describe the machine: processor, cores, threads, accelerator and versions."""
    import torch

    return {
        "processor": processor(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "accelerator": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def processor() -> str:
    """Return the processor's name, on Linux from /proc/cpuinfo, else from Python."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())


def _n_passages(length: int) -> int:
    return math.ceil(_ROUND_TOKENS / length)


def _rounds(length: int) -> Iterator[list[ScoringTask]]:
    """Yield tasks of new random words each time, so that no cache helps."""
    source, each = random.Random(7), math.ceil(DOCUMENT_TOKENS / length)  # noqa: S311
    while True:
        texts = [" ".join(source.choices(_WORDS, k=length)) for _ in range(_n_passages(length))]
        yield [_task(texts[start : start + each], str(start)) for start in range(0, len(texts), each)]


def _task(texts: list[str], doc_id: str) -> ScoringTask:
    passages = tuple(Passage(doc_id, n, text, 0, len(text)) for n, text in enumerate(texts))
    return ScoringTask(Query("q", "where do boats carry bread"), doc_id, passages, tuple(texts))
