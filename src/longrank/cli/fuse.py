"""``longrank fuse``: fuse several runs into one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli import console
from longrank.cli.options import RunOutput, Tag


def fuse(
    runs: Annotated[list[Path], typer.Argument(help="Two TREC runs or more.", metavar="RUN RUN...")],
    output: RunOutput,
    method: Annotated[str, typer.Option(help="Fusion method: rrf, linear or mapfuse.")],
    weights: Annotated[
        str | None, typer.Option(help="linear: weight of each run. [default: 1]", metavar="W1,W2,...")
    ] = None,
    normalize: Annotated[
        str | None, typer.Option(help="linear: none, or minmax per run and query. [default: none]")
    ] = None,
    rrf_k: Annotated[float | None, typer.Option(help="rrf: k of 1 / (k + rank). [default: 60]")] = None,
    maps: Annotated[
        str | None, typer.Option("--map", help="mapfuse: MAP of each system on other queries.", metavar="M1,M2,...")
    ] = None,
    heldout: Annotated[
        list[str] | None,
        typer.Option(
            help="mapfuse: judgments and runs of the same systems on other queries, which give the MAPs. Repeat the "
            "option for each file if a name holds a comma.",
            metavar="QRELS,RUN1,RUN2,...",
        ),
    ] = None,
    folds: Annotated[
        Path | None,
        typer.Option(help="mapfuse: fold file; each fold's test queries take the MAPs of its other queries."),
    ] = None,
    qrels: Annotated[Path | None, typer.Option(help="mapfuse: judgments, for --folds.")] = None,
    tag: Tag = "longrank",
) -> None:
    """Fuse runs by ranks, by scores, or by ranks and MAP.

    rrf: reciprocal ranks; linear: weighted sum of scores; mapfuse: MAP-weighted reciprocal ranks. The MAPs are never
    taken from the queries that are fused. linear: a document that a run lacks has the lower of 0 and the run's lowest
    score.

    Example: longrank fuse bm25.run maxp.run -o fused.run --method rrf
    """
    from longrank.cli.inputs import numbers, paths, run_file
    from longrank.formats.trec import write_run
    from longrank.verbs.fuse import fuse as fuse_runs

    others = paths(heldout)
    run_file(output, *runs, folds, qrels, *(others or ()))
    fused = fuse_runs(
        runs,
        method,
        k=rrf_k,
        weights=None if weights is None else numbers("--weights", weights),
        normalize=normalize,
        maps=None if maps is None else numbers("--map", maps),
        heldout=others,
        folds=folds,
        qrels=qrels,
        tag=tag,
    )
    write_run(fused, output)
    console.show_notes(fused.notes)
    console.note(f"{output}: {len(fused)} queries from {len(runs)} runs")
