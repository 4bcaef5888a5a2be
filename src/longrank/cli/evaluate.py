"""``longrank evaluate``: measure runs against judgments, and compare them with a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli import console


def evaluate(
    qrels: Annotated[
        str, typer.Argument(help="Judgments: a TREC qrels file, a collection folder, or irds:ID.", metavar="QRELS")
    ],
    runs: Annotated[list[Path], typer.Argument(help="TREC runs, from any engine.", metavar="RUN")],
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--measure",
            metavar="MEASURE",
            help="Repeatable. As ir_measures names it (nDCG@10, AP(rel=2)@100) or trec_eval (map, P.5,10, all_trec). "
            "Default: AP, nDCG@10, P@20, RR and R@1000.",
        ),
    ] = None,
    complete: Annotated[
        bool,
        typer.Option(
            "--complete/--intersection",
            help="Average over all topics of the qrels, missing ones as 0 (trec_eval -c); or over those the run has.",
        ),
    ] = True,
    level: Annotated[
        int | None,
        typer.Option("-l", "--level", help="Lowest relevant grade, for measures that only ask relevant or not."),
    ] = None,
    depth: Annotated[int | None, typer.Option("-M", "--depth", help="Look at this many documents per topic.")] = None,
    residual: Annotated[
        list[str] | None,
        typer.Option(
            "--residual",
            metavar="QRELS",
            help="Repeatable. Leave the documents that these judge out of runs and judgments, topic by topic.",
        ),
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option("--baseline", metavar="RUN", help="Compare the other runs with this one.")
    ] = None,
    test: Annotated[
        str | None, typer.Option("--test", help="Paired two-sided test: t or randomization. [default: t]")
    ] = None,
    correction: Annotated[
        str | None, typer.Option("--correction", help="For making several tests: bonferroni or holm.")
    ] = None,
    threshold: Annotated[float, typer.Option("--threshold", help="Mark differences with p below this.")] = 0.05,
    per_query: Annotated[
        bool, typer.Option("--per-query", help="Show values topic by topic, as trec_eval -q does.")
    ] = False,
    format: Annotated[
        str, typer.Option("--format", help="table, json, csv, latex or markdown; --per-query: table, json or csv.")
    ] = "table",
) -> None:
    """Measure runs against judgments, as trec_eval does.

    Example: longrank evaluate qrels.txt bm25.run maxp.run -m nDCG@10 -m AP --baseline bm25.run
    """
    from longrank.cli.inputs import choice
    from longrank.errors import InputError
    from longrank.evaluation.measures import DEFAULT_MEASURES
    from longrank.evaluation.render import PER_QUERY_RENDERERS, RENDERERS
    from longrank.verbs.evaluate import evaluate as evaluate_runs

    choice("--format", format, list(PER_QUERY_RENDERERS if per_query else RENDERERS))
    if per_query and baseline is not None:
        raise InputError("--per-query lists values and --baseline compares means", fix="use one of them")
    if baseline is None and (test or correction):
        raise InputError("--test and --correction compare runs with a baseline", fix="name one with --baseline RUN")
    table = evaluate_runs(
        qrels,
        runs,
        measures or DEFAULT_MEASURES,
        baseline=baseline,
        intersection=not complete,
        level=level,
        depth=depth,
        residual=residual or (),
        test=test or "t",
        correction=correction,
        threshold=threshold,
    )
    console.show_notes(table.notes)  # first, since they may change how the figures are read
    print(PER_QUERY_RENDERERS[format](table.per_query) if per_query else RENDERERS[format](table), end="")
