"""``longrank analyze latency``: what a document network costs by the size of its encoder."""

from __future__ import annotations

from typing import Annotated

import typer

from longrank.cli import console
from longrank.cli.analyze_output import Output, check_output, deliver


def latency(
    network: Annotated[str, typer.Option("--network", help="A document network; docs/names.md lists them.")] = (
        "parade-transformer"
    ),
    sizes: Annotated[
        list[str] | None,
        typer.Option("--size", help="large, base, 10/768, 8/768, medium, small, mini, 2/512, tiny. [default: all]"),
    ] = None,
    passages: Annotated[int, typer.Option("--passages", min=1, help="Passages of a document.")] = 16,
    tokens: Annotated[int, typer.Option("--tokens", min=8, help="Tokens of a passage, the query's included.")] = 256,
    dtype: Annotated[str, typer.Option("--dtype", help="float32 or bf16.")] = "float32",
    device: Annotated[str, typer.Option("--device", help="A torch device, or auto.")] = "auto",
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="CPU threads. [default: all cores]")] = None,
    seconds: Annotated[float, typer.Option("--seconds", min=0, help="How long to measure each size.")] = 5.0,
    output: Output = None,
) -> None:
    """Measure what a document network costs by the size of its encoder.

    Parameters, operations and time per document, for the BERT sizes that PARADE compares (Table 7), with random
    weights: cost does not depend on what a network has learned. Tokenisation is left out.

    Example: longrank analyze latency --size small --size tiny --dtype bf16
    """
    from longrank.processes import cores
    from longrank.verbs.analyze import analyze

    check_output(output)
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
    deliver(analysis, output)
