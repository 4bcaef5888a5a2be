"""``longrank bench``: measure the speed of a passage scorer on this machine."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longrank.cli import console
from longrank.cli.options import ModelName

if TYPE_CHECKING:
    from longrank.scoring.speed import Speed


def bench(
    model: ModelName,
    scorer: Annotated[str, typer.Option(help="Passage scorer.")] = "bi-encoder",
    lengths: Annotated[
        list[int] | None, typer.Option("--length", help="Tokens per passage; repeatable. [default: 64, 128, 256]")
    ] = None,
    dtypes: Annotated[
        list[str] | None, typer.Option("--dtype", help="float32, bf16 or int8; repeatable. [default: float32]")
    ] = None,
    backend: Annotated[str, typer.Option(help="Library that computes the encoder: torch, onnx or openvino.")] = "torch",
    device: Annotated[str, typer.Option(help="Torch device, or auto.")] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads. [default: all cores]")] = None,
    seconds: Annotated[float, typer.Option(min=0, help="Seconds per measurement.")] = 5.0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the measurements and the machine's name as JSON.")
    ] = None,
) -> None:
    """Measure how fast a model reads passages on this machine.

    Passages are generated and have equal lengths; documents have 2,000 tokens. The peak is the rate of one large matrix
    product.

    Example: longrank bench minilm --dtype float32 --dtype bf16
    """
    from longrank.cli.inputs import output_file
    from longrank.engines import cores
    from longrank.scoring.speed import machine, measure, use_threads
    from longrank.storage import atomic_write

    if output is not None:
        output_file(output, model)
    use_threads(threads or cores())
    rows: list[Speed] = []
    lengths, dtypes = lengths or [64, 128, 256], dtypes or ["float32"]
    for row in measure(scorer, model, lengths, dtypes, device=device, backend=backend, seconds=seconds):
        rows.append(row)
        console.note(f"{model}: {row.dtype}, {row.length} tokens: {row.passages:,.1f} passages/s")
    host = machine()
    if output is not None:
        record = {"machine": host, "measurements": [asdict(row) for row in rows]}
        with atomic_write(output, "w") as stream:
            stream.write(json.dumps(record, indent=2) + "\n")
    typer.echo(f"{host['accelerator'] or host['processor']}, {host['threads']} threads, PyTorch {host['torch']}")
    for line in table(rows):
        typer.echo(line)


def table(rows: list[Speed]) -> list[str]:
    """Return the lines of a table with one row per measurement."""
    head = ("dtype", "tokens each", "passages/s", "tokens/s", "documents/s", "GFLOP/s", "of peak")
    cells = [
        (
            row.dtype,
            str(row.length),
            f"{row.passages:,.1f}",
            f"{row.tokens:,.0f}",
            f"{row.documents:,.2f}",
            f"{row.gflops:,.0f}",
            f"{row.share:.0%}",
        )
        for row in rows
    ]
    return console.aligned(head, cells)
