"""``longrank evaluate``: measure runs against judgments, and compare them with a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longrank.cli import console

if TYPE_CHECKING:
    from longrank.evaluation.measures import Queries
    from longrank.evaluation.residual import Judged
    from longrank.types import Notes, Qrels, Run


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
    from longrank.cli.inputs import about_coverage, choice, load_runs, run_names
    from longrank.collections import read_qrels
    from longrank.errors import InputError
    from longrank.evaluation.measures import DEFAULT_MEASURES, parse_measures
    from longrank.evaluation.measures import evaluate as evaluate_run
    from longrank.evaluation.render import PER_QUERY_RENDERERS, RENDERERS
    from longrank.evaluation.report import compare
    from longrank.evaluation.residual import judged_documents
    from longrank.evaluation.significance import CORRECTIONS, TESTS
    from longrank.types import Notes

    choice("--format", format, list(PER_QUERY_RENDERERS if per_query else RENDERERS))
    choice("--test", test or "t", list(TESTS))
    choice("--correction", correction or "holm", list(CORRECTIONS))
    if per_query and baseline is not None:
        raise InputError("--per-query lists values and --baseline compares means", fix="use one of them")
    if baseline is None and (test or correction):
        raise InputError("--test and --correction compare runs with a baseline", fix="name one with --baseline RUN")
    wanted = parse_measures(measures or DEFAULT_MEASURES, level)
    queries: Queries = "complete" if complete else "intersection"
    notes = Notes()
    before = judged_documents(read_qrels(one, notes) for one in residual or ())
    judgments = _residual_qrels(read_qrels(qrels, notes), before, qrels, notes)
    _about_level(judgments, level, notes)
    loaded = load_runs([*([] if baseline is None else [baseline]), *runs], notes)
    results = {}
    for name, (path, whole) in zip(run_names(loaded), loaded.items(), strict=True):
        run = _residual_run(whole, before, path, notes)
        results[name] = evaluate_run(judgments, run, wanted, level=level, max_depth=depth, queries=queries, origin=path)
        about_coverage(judgments, run, path, notes, complete=complete)
    if per_query:
        print(PER_QUERY_RENDERERS[format](results), end="")
    else:
        base = None if baseline is None else next(iter(results))
        table = compare(results, baseline=base, test=test or "t", correction=correction, threshold=threshold)
        print(RENDERERS[format](table), end="")
    console.show_notes(notes)


def _residual_qrels(qrels: Qrels, before: Judged, place: str, notes: Notes) -> Qrels:
    from longrank.evaluation.residual import residual_qrels

    if not before:
        return qrels
    left = residual_qrels(qrels, before)
    n = sum(map(len, qrels.values())) - sum(map(len, left.values()))
    notes.say(f"{n} judgments of {place} left out: their documents were judged before")
    if len(left) < len(qrels):
        notes.say(f"{len(qrels) - len(left)} of {len(qrels)} topics of {place} left out: nothing else is judged")
    return left


def _residual_run(run: Run, before: Judged, path: Path, notes: Notes) -> Run:
    from longrank.evaluation.residual import residual_run

    if not before:
        return run
    left = residual_run(run, before)
    n = sum(len(run[query_id]) - len(left.get(query_id)) for query_id in run)
    notes.say(f"{n} documents of {path} left out: they were judged before")
    return left


def _about_level(qrels: Qrels, level: int | None, notes: Notes) -> None:
    barren = 0 if level is None else sum(max(judged.values(), default=0) < level for judged in qrels.values())
    if barren:
        notes.say(f"{barren} of {len(qrels)} topics have no document of grade {level} or more (count as 0)")
