"""``longrank evaluate``: measure runs against relevance judgments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli import console
from longrank.cli.options import Complete, Plot, Qrels, Runs


def evaluate(
    qrels: Qrels,
    runs: Runs,
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--measure",
            metavar="MEASURE",
            help="Repeatable; a name of ir_measures (nDCG@10, AP(rel=2)@100) or trec_eval (map, P.5,10, all_trec). "
            "[default: AP, nDCG@10, P@20, RR and R@1000]",
        ),
    ] = None,
    complete: Complete = True,
    level: Annotated[
        int | None, typer.Option("-l", "--level", help="Lowest relevant grade of binary measures. [default: 1]")
    ] = None,
    depth: Annotated[int | None, typer.Option("-M", "--depth", help="Documents per topic that count.")] = None,
    residual: Annotated[
        list[str] | None,
        typer.Option(
            metavar="QRELS",
            help="Repeatable; earlier judgments. The documents that they judge are left out, topic by topic.",
        ),
    ] = None,
    baseline: Annotated[Path | None, typer.Option(metavar="RUN", help="Run to compare the other runs with.")] = None,
    test: Annotated[str | None, typer.Option(help="Paired two-sided test: t or randomization. [default: t]")] = None,
    correction: Annotated[str | None, typer.Option(help="Correction for several tests: bonferroni or holm.")] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Significance level; differences with p below it are marked. [default: 0.05]")
    ] = None,
    per_query: Annotated[
        bool, typer.Option("--per-query", help="Print the values of each topic, as trec_eval -q does.")
    ] = False,
    format: Annotated[
        str,
        typer.Option(help="Output format: table, json, csv, latex or markdown; with --per-query table, json or csv."),
    ] = "table",
    plot: Plot = None,
) -> None:
    """Measure runs against judgments, as trec_eval does.

    Example: longrank evaluate qrels.txt bm25.run maxp.run -m nDCG@10 -m AP --baseline bm25.run
    """
    from longrank.cli.inputs import choice, plot_file
    from longrank.errors import InputError
    from longrank.evaluation.measures import DEFAULT_MEASURES
    from longrank.evaluation.render import PER_QUERY_RENDERERS, RENDERERS
    from longrank.verbs.evaluate import evaluate as evaluate_runs

    choice("--format", format, list(PER_QUERY_RENDERERS if per_query else RENDERERS))
    if per_query and baseline is not None:
        raise InputError("--per-query and --baseline cannot be combined", fix="use one of them")
    if plot is not None and baseline is None:
        raise InputError("--plot shows differences from a baseline", fix="name it with --baseline RUN")
    plot_file(plot, qrels, *runs, baseline)
    table = evaluate_runs(
        qrels,
        runs,
        measures or DEFAULT_MEASURES,
        baseline=baseline,
        intersection=not complete,
        level=level,
        depth=depth,
        residual=residual or (),
        test=test,
        correction=correction,
        threshold=threshold,
    )
    if plot is not None:
        table.draw(plot)
    console.show_notes(table.notes)  # first: they may change how the figures are read
    print(PER_QUERY_RENDERERS[format](table.per_query) if per_query else RENDERERS[format](table), end="")
