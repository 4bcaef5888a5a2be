"""``longrank weigh``: what the first stage and the best passages weigh, learned from judgments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longrank.cli import console
from longrank.errors import InputError

if TYPE_CHECKING:
    from longrank.evaluation.tuning.grids import Axes
    from longrank.evaluation.tuning.protocols import TuningProtocol
    from longrank.evaluation.tuning.values import GridValues, Outcome
    from longrank.evaluation.tuning.weights import Weighing
    from longrank.formats.folds import Fold
    from longrank.types import Notes

_WEIGHTS = "weights.json"


def weigh(
    qrels: Annotated[
        str, typer.Argument(help="Judgments: a TREC qrels file, a collection folder, or irds:ID.", metavar="QRELS")
    ],
    run: Annotated[Path, typer.Argument(help="The first stage: the run that was reranked.", metavar="RUN")],
    reranked: Annotated[
        list[Path],
        typer.Argument(
            help="What rerank made of it: evidence files, or runs, each of some of the queries.", metavar="EVIDENCE"
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the result.", metavar="FOLDER")],
    grid: Annotated[
        list[str] | None,
        typer.Option(
            "--grid",
            metavar="AXIS",
            help="Repeatable: the values of a weight, as NAME=FIRST:LAST:STEP or NAME=VALUE,VALUE,... NAME is alpha "
            "(of the first stage), or w2, w3, ... (of the second best, third best passage). [default: alpha=0:1:0.1]",
        ),
    ] = None,
    aggregator: Annotated[
        str | None,
        typer.Option("--aggregator", "-a", help="Without w2: how passages become a score. [default: maxp]"),
    ] = None,
    normalize: Annotated[
        str, typer.Option("--normalize", help="Before interpolating: none, or minmax per query.")
    ] = "none",
    depth: Annotated[
        int | None,
        typer.Option("--depth", help="Of runs: how many documents were reranked, if others follow below them."),
    ] = None,
    measure: Annotated[
        str, typer.Option("-m", "--measure", help="What is maximised: a name of ir_measures or trec_eval.")
    ] = "AP",
    folds: Annotated[
        Path | None, typer.Option("--folds", help="For each fold of this file, learn on its other queries.")
    ] = None,
    n_folds: Annotated[
        int | None, typer.Option("--make-folds", help="Make this many folds at random; written to FOLDER/folds.json.")
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(
            "--choose-by", help="With folds: rest, dev, yang19 or birch, as of longrank tune. [default: rest]"
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Of made folds. [default: 42]")] = None,
    learn_on: Annotated[
        str | None,
        typer.Option(
            "--learn-on", help="Learn on another judged set, and keep the weights.", metavar="QRELS,RUN,EVIDENCE,..."
        ),
    ] = None,
    format: Annotated[
        str, typer.Option("--format", help="Of what is printed: table, json, csv or markdown.")
    ] = "table",
) -> None:
    """Learn what first stage and passages weigh.

    By folds, or on another judged set. A document's score is alpha * first stage + (1 - alpha) * (best passage +
    w2 * second best + ...). Writes weights.json and the run that they give, run.txt, to FOLDER. Without folds or
    another set, the weights that are best for these queries are reported on them, which is no test.

    Example: longrank weigh qrels.txt bm25.run maxp.run.evidence -o birch --make-folds 5 --grid alpha=0:1:0.1
    --grid w2=0:1:0.1 --grid w3=0:1:0.1
    """
    from longrank.cli.inputs import apart, choice
    from longrank.collections import read_qrels
    from longrank.evaluation.folds import make_folds
    from longrank.evaluation.tuning.folder import RUN, check_own, write_outcome
    from longrank.evaluation.tuning.formula import ALPHA, PASSAGES, make_formula
    from longrank.evaluation.tuning.grids import parse_axes
    from longrank.evaluation.tuning.report import RENDERERS, as_json
    from longrank.evaluation.tuning.reranked import open_reranked
    from longrank.evaluation.tuning.weights import Weighing, weighed_run
    from longrank.storage.workplace import working_in
    from longrank.types import Notes

    notes = Notes()
    if seed is not None and n_folds is None:
        raise InputError("--seed belongs to --make-folds", got=seed)
    choice("--format", format, ["json", *RENDERERS])
    check_own(output, _WEIGHTS, "weigh")
    for name in (RUN, _WEIGHTS):
        apart(output / name, run, *reranked, *(learn_on or "").split(","))
    axes = parse_axes(grid or ["alpha=0:1:0.1"], dict.fromkeys((ALPHA, *PASSAGES), float), "weight")
    if ALPHA not in axes:
        notes.say("alpha is not in the grid: the first stage counts nothing")
    formula = make_formula(axes, aggregator, normalize)
    here = Weighing(open_reranked(run, reranked, depth=depth, notes=notes), read_qrels(qrels, notes), formula, measure)
    made = None if n_folds is None else make_folds(here.query_ids, n_folds, 42 if seed is None else seed)
    if learn_on is None:
        about, table, outcome = _learned_here(here, axes, folds, made, rule, notes)
    elif folds is not None or made is not None or rule is not None:
        raise InputError("--learn-on and folds are two ways to learn: give one of them")
    else:
        about, table, outcome = _learned_elsewhere(here, axes, learn_on, depth, notes)
    everything = as_json(table, outcome, {"protocol": about, **here.about()})
    setting_of = outcome.setting_of if outcome.setting is None else dict.fromkeys(here.first_stage, outcome.setting)
    rankings = list(weighed_run(here, setting_of))  # before what an earlier call has left is removed
    with working_in(output):
        write_outcome(output, everything, rankings, made, folds, name=_WEIGHTS)
    print(everything if format == "json" else RENDERERS[format](table, outcome), end="")
    console.show_notes(notes)


def _learned_here(
    here: Weighing, axes: Axes, folds: Path | None, made: Mapping[str, Fold] | None, rule: str | None, notes: Notes
) -> tuple[Mapping[str, object], GridValues, Outcome]:
    """Choose for each fold on its other queries, or once on all."""
    from longrank.cli.inputs import choice
    from longrank.evaluation.tuning.protocols import OnAll, OnFolds
    from longrank.evaluation.tuning.rules import RULES
    from longrank.formats.folds import read_folds

    if folds is not None and made is not None:
        raise InputError("--folds and --make-folds are two ways to the same: give one of them")
    if rule is not None and folds is None and made is None:
        raise InputError("--choose-by belongs to folds", got=rule, fix="give --folds or --make-folds")
    chosen = choice("--choose-by", rule or "rest", list(RULES))
    parts = made if folds is None else read_folds(folds, notes)
    protocol: TuningProtocol = OnAll() if parts is None else OnFolds(parts, chosen, notes)
    protocol.choose(here.blank(axes))  # what these queries do not allow is refused before any work
    table = _tabulated(here, axes, notes)
    return protocol.about(), table, protocol.conclude(table, protocol.choose(table), here.figure)


def _learned_elsewhere(
    here: Weighing, axes: Axes, files: str, depth: int | None, notes: Notes
) -> tuple[Mapping[str, object], GridValues, Outcome]:
    """Choose on another judged set."""
    from longrank.collections import read_qrels
    from longrank.evaluation.tuning.protocols import frozen
    from longrank.evaluation.tuning.reranked import open_reranked

    qrels, *runs = files.split(",")
    if len(runs) < 2:
        raise InputError("--learn-on takes judgments, a first stage and what reranked it", got=files)
    run, *reranked = map(Path, runs)
    there = replace(
        here, reranked=open_reranked(run, reranked, depth=depth, notes=notes), qrels=read_qrels(qrels, notes)
    )
    if both := set(there.query_ids) & set(here.query_ids):
        notes.say(f"{len(both)} query ids are in both sets ({min(both)}, ...): make sure that they are other queries")
    read = [{one.split(" | ", 1)[-1] for one in own.reranked.scorers} for own in (there, here)]
    if all(read) and read[0] != read[1]:
        learned, used = (", ".join(sorted(own)) for own in read)
        notes.say(f"weights are learned on passages by {learned}, and used on those by {used}")
    table = _tabulated(there, axes, notes)
    place = table.best(table.query_ids)
    only = {name: (value,) for name, value in table.settings[place].items()}
    return {"name": "frozen", "learned_on": files}, table, frozen(table, place, _tabulated(here, only, notes))


def _tabulated(weighing: Weighing, axes: Axes, notes: Notes) -> GridValues:
    with console.progress("weighing", len(weighing.query_ids), "queries") as advance:
        return weighing.table(axes, notes, progress=advance)
