"""``longrank fuse``: several runs become one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli import console


def fuse(
    runs: Annotated[list[Path], typer.Argument(help="Two TREC runs or more.", metavar="RUN RUN...")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the fused run goes.")],
    method: Annotated[str, typer.Option("--method", help="rrf, linear, or mapfuse.")],
    weights: Annotated[
        str | None, typer.Option("--weights", help="linear: a weight for each run.", metavar="W1,W2,...")
    ] = None,
    normalize: Annotated[
        str | None, typer.Option("--normalize", help="linear: none, or minmax per run and query. [default: none]")
    ] = None,
    rrf_k: Annotated[float | None, typer.Option("--rrf-k", help="rrf: k of 1 / (k + rank). [default: 60]")] = None,
    maps: Annotated[
        str | None,
        typer.Option("--map", help="mapfuse: the MAP of each system on other queries.", metavar="M1,M2,..."),
    ] = None,
    heldout: Annotated[
        str | None,
        typer.Option(
            "--heldout",
            help="mapfuse: take the MAPs from these judgments and runs of the same systems on other queries.",
            metavar="QRELS,RUN1,RUN2,...",
        ),
    ] = None,
    folds: Annotated[
        Path | None,
        typer.Option("--folds", help="mapfuse: fuse each fold's test queries with the MAPs of its other queries."),
    ] = None,
    qrels: Annotated[Path | None, typer.Option("--qrels", help="mapfuse: judgments, for --folds.")] = None,
    tag: Annotated[str, typer.Option("--tag", help="The run's tag.")] = "longrank",
) -> None:
    """Fuse runs by ranks, by scores, or by ranks and MAP.

    rrf: reciprocal ranks; linear: a weighted sum of scores; mapfuse: MAP-weighted reciprocal ranks. The MAPs are
    never taken from the queries being fused.

    Example: longrank fuse bm25.run maxp.run -o fused.run --method rrf
    """
    from longrank.cli.inputs import numbers, output_file
    from longrank.formats.trec import write_run
    from longrank.verbs.fuse import fuse as fuse_runs

    output_file(output, *runs, folds, qrels, *(heldout or "").split(","))
    fused = fuse_runs(
        runs,
        method,
        k=rrf_k,
        weights=None if weights is None else numbers("--weights", weights),
        normalize=normalize,
        maps=None if maps is None else numbers("--map", maps),
        heldout=None if heldout is None else heldout.split(","),
        folds=folds,
        qrels=qrels,
        tag=tag,
    )
    write_run(fused, output)
    console.show_notes(fused.notes)
    console.note(f"{output}: {len(fused)} queries from {len(runs)} runs")
