"""``longrank analyze latency``: measure the cost of a document network by the size of its encoder."""

from __future__ import annotations

from typing import Annotated

import typer

from longrank.cli import console
from longrank.cli.analyze_output import Output, check_output, deliver
from longrank.cli.options import Plot


def latency(
    network: Annotated[str, typer.Option(help="Document network; docs/names.md lists all.")] = ("parade-transformer"),
    sizes: Annotated[
        list[str] | None,
        typer.Option(
            "--size", help="Repeatable: large, base, 10/768, 8/768, medium, small, mini, 2/512, tiny. [default: all]"
        ),
    ] = None,
    passages: Annotated[int, typer.Option(min=1, help="Passages per document.")] = 16,
    tokens: Annotated[int, typer.Option(min=8, help="Tokens per passage, the query's included.")] = 256,
    dtype: Annotated[str, typer.Option(help="Number format: float32 or bf16.")] = "float32",
    device: Annotated[str, typer.Option(help="Torch device, or auto.")] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads. [default: all cores]")] = None,
    seconds: Annotated[float, typer.Option(min=0, help="Seconds to measure each size, at least.")] = 5.0,
    output: Output = None,
    plot: Plot = None,
) -> None:
    """Measure the cost of a document network by the size of its encoder.

    Parameters, operations and time per document, for the BERT sizes of PARADE (Table 7). Weights are random: cost
    does not depend on training. Tokenisation is left out.

    Example: longrank analyze latency --size small --size tiny --dtype bf16
    """
    from longrank.engines import cores
    from longrank.verbs.analyze import analyze

    check_output(output, plot)
    analysis = analyze.latency(
        network,
        sizes or (),
        passages=passages,
        tokens=tokens,
        dtype=dtype,
        device=device,
        threads=threads or cores(),
        seconds=seconds,
        progress=lambda row: console.note(f"{row.size}: {row.milliseconds:,.1f} ms per document"),
    )
    deliver(analysis, output, plot)
