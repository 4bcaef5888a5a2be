"""Measure the cost of a document network by the size of its encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from longrank.analysis.result import Analysis, columns

if TYPE_CHECKING:
    from longrank.scoring.latency import Latency


def latency(
    network: str = "parade-transformer",
    sizes: Sequence[str] = (),
    *,
    passages: int = 16,
    tokens: int = 256,
    dtype: str = "float32",
    device: str = "auto",
    threads: int | None = None,
    seconds: float = 5.0,
    progress: Callable[[Latency], object] | None = None,
) -> Analysis[list[Latency]]:
    """Measure parameters, operations and time per document.

    Args:
        network: a document network; docs/names.md lists them.
        sizes: names of `longrank.scoring.latency.SIZES`. Default: all.
        passages: passages of a document.
        tokens: tokens of a passage, the query's included.
        dtype: ``"float32"`` or ``"bf16"``.
        device: a torch device, or ``"auto"``.
        threads: CPU threads. Default: as torch is set.
        seconds: time to measure each size, at least.
        progress: called with each measurement.

    Raises:
        InputError: an unknown name, or a value out of range.
        MissingExtra: torch or transformers is not installed.
    """
    from longrank.analysis.plots import plot_costs
    from longrank.scoring.latency import SIZES, latencies
    from longrank.scoring.speed import machine, use_threads

    if threads is not None:
        use_threads(threads)
    rows: list[Latency] = []
    measured = latencies(
        network, list(sizes or SIZES), passages=passages, tokens=tokens, dtype=dtype, device=device, seconds=seconds
    )
    for row in measured:
        rows.append(row)
        if progress is not None:
            progress(row)
    settings = {"network": network, "passages": passages, "tokens": tokens, "dtype": dtype}
    named = machine()
    costs = {row.size: (row.gflops, row.milliseconds) for row in rows}
    text = (
        f"{named['accelerator'] or named['processor']}, {named['threads']} threads, PyTorch {named['torch']}\n"
        f"{network}, {passages} passages of {tokens} tokens, {dtype}\n{_table(rows)}"
    )
    record = {"machine": named, **settings, "rows": rows}
    return Analysis(rows, text, record, lambda path: plot_costs(path, costs, title=network))


def _table(rows: Sequence[Latency]) -> str:
    width = max(len(row.size) for row in rows)
    cells = [
        (
            row.size.rjust(width),
            f"{row.layers}/{row.hidden}",
            f"{row.parameters / 1e6:,.1f}",
            f"{row.gflops:,.1f}",
            f"{row.milliseconds:,.1f}",
        )
        for row in rows
    ]
    return columns(("size".rjust(width), "layers/hidden", "million parameters", "GFLOP/document", "ms/document"), cells)
