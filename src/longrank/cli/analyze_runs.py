"""``longrank analyze deltas``, ``judged`` and ``agreement``: runs beside each other, query by query."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli.analyze_output import Output, Qrels, check_output, deliver

Runs = Annotated[list[Path], typer.Argument(help="TREC runs, from any engine.", metavar="RUN")]


def deltas(
    qrels: Qrels,
    run: Annotated[Path, typer.Argument(help="A TREC run.", metavar="RUN")],
    baseline: Annotated[Path, typer.Option("--baseline", help="The run that it is compared with.", metavar="RUN")],
    measure: Annotated[
        str, typer.Option("-m", "--measure", help="What is compared: a name of ir_measures or trec_eval.")
    ] = "nDCG@10",
    shown: Annotated[
        int, typer.Option("--show", min=0, help="How many of the best and of the worst queries to print; 0: all.")
    ] = 10,
    output: Output = None,
) -> None:
    """Compare two runs query by query.

    Wins, ties, losses, and the queries with the largest differences; the JSON has all.

    Example: longrank analyze deltas qrels.txt maxp.run --baseline bm25.run -m AP -o deltas.json
    """
    from longrank.verbs.analyze import analyze

    check_output(output, qrels, run, baseline)
    deliver(analyze.deltas(qrels, run, baseline, measure, shown=shown), output)


def judged(
    qrels: Qrels,
    runs: Runs,
    cutoffs: Annotated[
        list[int] | None, typer.Option("-k", min=1, help="Repeatable: of the first K. [default: 10 and 20]")
    ] = None,
    output: Output = None,
) -> None:
    """Show how much of each run's top has been judged.

    The share of the first K documents of each query, or of all that it has, that have a judgment; the mean over the
    run's judged queries. Runs that are judged less may be better than they look.

    Example: longrank analyze judged qrels.txt bm25.run maxp.run -k 10 -k 20 -k 100
    """
    from longrank.verbs.analyze import analyze

    check_output(output, qrels, *runs)
    deliver(analyze.judged(qrels, runs, cutoffs or (10, 20)), output)


def agreement(
    runs: Runs,
    k: Annotated[int, typer.Option("-k", help="Of the overlap: the first K.")] = 10,
    p: Annotated[float, typer.Option("-p", help="Of rank-biased overlap: what the next rank counts.")] = 0.9,
    depth: Annotated[
        int | None, typer.Option("--depth", help="Of tau and rank-biased overlap: the first so many. [default: all]")
    ] = None,
    output: Output = None,
) -> None:
    """Show how alike the rankings of two or more runs are.

    Kendall's tau of the documents that both rank, rank-biased overlap (RBO), and the overlap of the first K; means
    over the queries that both have.

    Example: longrank analyze agreement bm25.run maxp.run parade.run -k 20
    """
    from longrank.verbs.analyze import analyze

    check_output(output, *runs)
    deliver(analyze.agreement(runs, k=k, p=p, depth=depth), output)
