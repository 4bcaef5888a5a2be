"""Compare runs with each other, query by query."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from longrank.analysis import agreement as alike
from longrank.analysis import deltas as differing
from longrank.analysis import plots
from longrank.analysis.render import agreement_text, deltas_text, judged_text
from longrank.analysis.result import Analysis
from longrank.collections import read_qrels, read_run
from longrank.errors import InputError
from longrank.evaluation.measures import evaluate, is_count, summarise
from longrank.evaluation.names import parse_measure
from longrank.evaluation.systems import System, note_coverage, place_of, places_of, read_systems
from longrank.registries import whole_numbers
from longrank.types import Notes
from longrank.verbs.naming import naming_files


@naming_files
def deltas(
    qrels: Any, run: Any, baseline: Any, measure: str = "nDCG@10", *, shown: int = 10, notes: Notes | None = None
) -> Analysis[differing.Deltas]:
    """Compare two runs query by query: wins, ties, losses, and the queries with the largest differences.

    Args:
        qrels: judgments: a file, a collection folder, ``irds:ID``, a mapping or a table.
        run: a file, a `Run`, a mapping query id -> doc id -> score, or a table.
        baseline: the run to compare with.
        measure: a name of ir_measures or trec_eval; no count.
        shown: how many of the best and of the worst queries the table shows; 0: all.
        notes: counts remarks on the inputs; the result carries it.

    Raises:
        InputError: a count, an unknown measure, or a fault of an input.
    """
    notes = Notes() if notes is None else notes
    parsed = parse_measure(measure)
    name = str(parsed)
    if is_count(name):
        raise InputError("a count is not compared query by query", got=measure)
    judgments = read_qrels(qrels, notes)
    values = []
    for source, kind in ((run, "the run"), (baseline, "the baseline")):
        system = System(kind, read_run(source, notes), place_of(source, kind))
        values.append(evaluate(judgments, system.run, [parsed], origin=system.place)[name])
        note_coverage(judgments, system, notes, "count as 0")
    differences = differing.deltas(*values)
    record = places_of(qrels=qrels, run=run, baseline=baseline) | {"measure": name}
    summary = {key: getattr(differences, key) for key in ("wins", "ties", "losses", "mean", "p")}
    title = f"{name}: {_short(run, 'run')} less {_short(baseline, 'baseline')}"
    return Analysis(
        differences,
        deltas_text(differences, name, shown),
        {**record, **summary, "queries": [row._asdict() for row in differences.rows]},
        lambda path: plots.plot_deltas(path, [row.delta for row in differences.rows], title),
        notes,
    )


def _short(source: Any, kind: str) -> str:
    return place_of(source, kind).rpartition("/")[2]


@naming_files
def judged(
    qrels: Any, runs: Any, cutoffs: int | Iterable[int] = (10, 20), *, notes: Notes | None = None
) -> Analysis[dict[str, dict[int, float]]]:
    """Measure how much of each run's top has been judged: the mean over its judged queries.

    Runs that are judged less may be better than their figures.

    Args:
        qrels: judgments, as `deltas` takes them.
        runs: a run, a list of runs, or a mapping name -> run.
        cutoffs: a number k, or several; the first k documents of each query count, or all if there are fewer.
        notes: counts remarks on the inputs; the result carries it.

    Raises:
        InputError: a cutoff below 1, or a fault of an input.
    """
    notes = Notes() if notes is None else notes
    judgments = read_qrels(qrels, notes)
    measures = {k: f"Judged@{k}" for k in whole_numbers(cutoffs, "a cutoff")}
    shares = {}
    for system in read_systems(runs, notes):
        values = evaluate(judgments, system.run, measures.values(), queries="intersection", origin=system.place)
        shares[system.name] = {k: summarise(measure, values[measure].values()) for k, measure in measures.items()}
        note_coverage(judgments, system, notes, "left out")
    judged = {name: {str(k): value for k, value in line.items()} for name, line in shares.items()}
    record = places_of(qrels=qrels) | {"judged": judged}
    return Analysis(
        shares, judged_text(shares), record, lambda path: plots.plot_lines(path, {"judged@k": shares}, "k"), notes
    )


@naming_files
def agreement(
    runs: Any, *, k: int = 10, p: float = 0.9, depth: int | None = None, notes: Notes | None = None
) -> Analysis[list[alike.Agreement]]:
    """Measure how alike the rankings of two or more runs are: Kendall's tau, rank-biased overlap (RBO), overlap.

    Args:
        runs: a list of runs, or a mapping name -> run.
        k: documents that the overlap compares.
        p: weight of each next rank in RBO, above 0 and below 1.
        depth: ranks that tau and RBO compare. Default: all.
        notes: counts remarks on the inputs; the result carries it.

    Raises:
        InputError: fewer than two runs, an option out of range, or runs without a common query.
    """
    notes = Notes() if notes is None else notes
    loaded = {system.name: system.run for system in read_systems(runs, notes)}
    pairs = alike.agreements(loaded, k=k, p=p, depth=depth)
    for pair in pairs:
        if without := sum(values["tau"] is None for values in pair.per_query.values()):
            share = f"{without} of {pair.queries} queries of {pair.one} and {pair.other}"
            notes.say(f"{share} have fewer than two documents in common, and no tau: its mean is of the others")
    names = {"tau": "tau", "rbo": f"RBO {p:g}", "overlap": f"overlap@{k}"}
    matrices = {title: alike.matrix(list(loaded), pairs, measure) for measure, title in names.items()}
    return Analysis(
        pairs,
        agreement_text(pairs, names),
        {"k": k, "p": p, "depth": depth, "pairs": pairs},
        lambda path: plots.plot_matrices(path, list(loaded), matrices),
        notes,
    )
