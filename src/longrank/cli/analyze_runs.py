"""``longrank analyze deltas``, ``judged`` and ``agreement``: compare runs query by query."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli.analyze_output import Output, check_output, deliver
from longrank.cli.options import Plot, Qrels, Runs


def deltas(
    qrels: Qrels,
    run: Annotated[Path, typer.Argument(help="TREC run.", metavar="RUN")],
    baseline: Annotated[Path, typer.Option(help="Run to compare with.", metavar="RUN")],
    measure: Annotated[
        str, typer.Option("-m", "--measure", help="Measure to compare, a name of ir_measures or trec_eval.")
    ] = "nDCG@10",
    shown: Annotated[
        int, typer.Option("--show", min=0, help="Number of best and of worst queries to print; 0: all queries.")
    ] = 10,
    output: Output = None,
    plot: Plot = None,
) -> None:
    """Compare two runs query by query.

    Prints wins, ties, losses, and the queries with the largest differences; the JSON file has all queries.

    Example: longrank analyze deltas qrels.txt maxp.run --baseline bm25.run -m AP -o deltas.json
    """
    from longrank.verbs.analyze import analyze

    check_output(output, plot, qrels, run, baseline)
    deliver(analyze.deltas(qrels, run, baseline, measure, shown=shown), output, plot)


def judged(
    qrels: Qrels,
    runs: Runs,
    cutoffs: Annotated[
        list[int] | None, typer.Option("-k", min=1, help="Repeatable; rank cutoff. [default: 10 and 20]")
    ] = None,
    output: Output = None,
    plot: Plot = None,
) -> None:
    """Measure the share of judged documents among the first K of each run.

    The mean over the run's judged queries; if a query has fewer documents, all of them count. Runs with fewer judged
    documents may be better than their figures.

    Example: longrank analyze judged qrels.txt bm25.run maxp.run -k 10 -k 20 -k 100
    """
    from longrank.verbs.analyze import analyze

    check_output(output, plot, qrels, *runs)
    deliver(analyze.judged(qrels, runs, cutoffs or (10, 20)), output, plot)


def agreement(
    runs: Runs,
    k: Annotated[int, typer.Option("-k", help="Documents that the overlap compares.")] = 10,
    p: Annotated[
        float, typer.Option("-p", help="Weight of each next rank in rank-biased overlap, above 0 and below 1.")
    ] = 0.9,
    depth: Annotated[int | None, typer.Option(help="Ranks compared by tau and RBO. [default: all]")] = None,
    output: Output = None,
    plot: Plot = None,
) -> None:
    """Measure how alike the rankings of two or more runs are.

    Kendall's tau of the documents that both runs rank, rank-biased overlap (RBO), and the overlap of the first K;
    means over the queries that both runs have.

    Example: longrank analyze agreement bm25.run maxp.run parade.run -k 20
    """
    from longrank.verbs.analyze import analyze

    check_output(output, plot, *runs)
    deliver(analyze.agreement(runs, k=k, p=p, depth=depth), output, plot)
