"""``longrank analyze deltas``, ``judged`` and ``agreement``: runs beside each other, query by query."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longrank.cli import console
from longrank.cli.analyze_output import Output, Qrels, check_output, share, show, write
from longrank.errors import InputError

if TYPE_CHECKING:
    from longrank.analysis.deltas import Deltas

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
    from longrank.analysis.deltas import deltas as differences
    from longrank.analysis.plots import plot_deltas
    from longrank.cli.inputs import about_coverage
    from longrank.collections import read_qrels
    from longrank.evaluation.measures import evaluate, is_count, parse_measure
    from longrank.formats.trec import read_run
    from longrank.types import Notes

    notes = Notes()
    check_output(output, qrels, run, baseline)
    wanted = parse_measure(measure)
    if is_count(str(wanted)):
        raise InputError("a count is not compared query by query", got=measure)
    judged = read_qrels(qrels, notes)
    both = [(path, read_run(path, notes)) for path in (run, baseline)]
    one, other = (evaluate(judged, of, [wanted], origin=path)[str(wanted)] for path, of in both)
    for path, of in both:
        about_coverage(judged, of, path, notes, complete=True)
    found = differences(one, other)
    _print_deltas(found, str(wanted), shown)
    record = {"qrels": qrels, "run": str(run), "baseline": str(baseline), "measure": str(wanted)}
    rows = [row._asdict() for row in found.rows]
    summary = {name: getattr(found, name) for name in ("wins", "ties", "losses", "mean", "p")}
    title = f"{wanted}: {run.name} less {baseline.name}"
    write(
        output,
        {**record, **summary, "queries": rows},
        lambda path: plot_deltas(path, [row.delta for row in found.rows], title),
    )
    console.show_notes(notes)


def _print_deltas(found: Deltas, measure: str, shown: int) -> None:
    p = "" if found.p is None else f", p {found.p:.4f} (paired t-test)"
    typer.echo(f"{measure}: {found.wins} wins, {found.ties} ties, {found.losses} losses; mean {found.mean:+.4f}{p}")
    typer.echo()
    n = len(found.rows)
    places = range(n) if shown == 0 or 2 * shown >= n else [*range(shown), *range(n - shown, n)]
    rows, before = [], -1
    for place in places:
        if place > before + 1:
            rows.append(("...", "", "", ""))
        row, before = found.rows[place], place
        rows.append((row.query_id, f"{row.value:.4f}", f"{row.baseline:.4f}", f"{row.delta:+.4f}"))
    show(("query", "run", "baseline", "difference"), rows)


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
    from longrank.analysis.plots import plot_lines
    from longrank.cli.inputs import about_coverage, load_runs, run_names
    from longrank.collections import read_qrels
    from longrank.evaluation.measures import evaluate, summarise
    from longrank.types import Notes

    notes = Notes()
    check_output(output, qrels, *runs)
    grades = read_qrels(qrels, notes)
    measures = {k: f"Judged@{k}" for k in sorted(set(cutoffs or [10, 20]))}
    found = {}
    loaded = load_runs(runs, notes)
    for name, (path, run) in zip(run_names(loaded), loaded.items(), strict=True):
        values = evaluate(grades, run, measures.values(), queries="intersection", origin=path)
        found[name] = {k: summarise(measure, values[measure].values()) for k, measure in measures.items()}
        about_coverage(grades, run, path, notes, complete=False)
    show(
        ("run", *(f"judged@{k}" for k in measures)),
        [(name, *map(share, line.values())) for name, line in found.items()],
    )
    record = {
        "qrels": qrels,
        "judged": {name: {str(k): value for k, value in line.items()} for name, line in found.items()},
    }
    write(output, record, lambda path: plot_lines(path, {"judged@k": found}, "k"))
    console.show_notes(notes)


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
    from longrank.analysis.agreement import agreements, matrix
    from longrank.analysis.plots import plot_matrices
    from longrank.cli.inputs import load_runs, run_names
    from longrank.types import Notes

    notes = Notes()
    check_output(output, *runs)
    loaded = load_runs(runs, notes)
    opened = dict(zip(run_names(loaded), loaded.values(), strict=True))
    found = agreements(opened, k=k, p=p, depth=depth)
    names = {"tau": "tau", "rbo": f"RBO {p:g}", "overlap": f"overlap@{k}"}
    rows = [
        (one.one, one.other, str(one.queries), *("-" if one.means[m] is None else f"{one.means[m]:.4f}" for m in names))
        for one in found
    ]
    show(("run", "other", "queries", *names.values()), rows)
    matrices = {title: matrix(list(opened), found, m) for m, title in names.items()}
    record = {"k": k, "p": p, "depth": depth, "pairs": found}
    write(output, record, lambda path: plot_matrices(path, list(opened), matrices))
    console.show_notes(notes)
