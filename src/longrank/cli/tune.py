"""``longrank tune``: which settings of a first stage are best, by one of three protocols."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longrank.cli import console
from longrank.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from longrank.evaluation.tuning.grids import Axes
    from longrank.evaluation.tuning.protocols import TuningProtocol
    from longrank.evaluation.tuning.values import GridValues, Outcome
    from longrank.types import Notes

_OPTIONS = {"samples": ("--samples", "--sample-size"), "folds": ("--folds", "--make-folds", "--choose-by")}


def tune(
    index: Annotated[Path, typer.Argument(help="The index to search.", metavar="INDEX")],
    queries: Annotated[
        str,
        typer.Argument(help="Queries: JSONL, TSV, TREC topics, a collection folder, or irds:ID.", metavar="QUERIES"),
    ],
    qrels: Annotated[
        str, typer.Argument(help="Judgments: a TREC qrels file, a collection folder, or irds:ID.", metavar="QRELS")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", help="Folder for the result; the same command again goes on in it.", metavar="FOLDER"
        ),
    ],
    grid: Annotated[
        list[str],
        typer.Option(
            "--grid",
            metavar="AXIS",
            help="Repeatable: the values of a setting, as NAME=FIRST:LAST:STEP or NAME=VALUE,VALUE,... "
            "NAME is k1, b, mu, or an option of the feedback (fb_docs, ...).",
        ),
    ],
    preset: Annotated[
        str, typer.Option("--preset", help="The first stage to tune, e.g. bm25-anserini+rm3; docs/names.md has all.")
    ] = "bm25-anserini",
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="key=value: a setting that is the same throughout.")
    ] = None,
    measure: Annotated[
        str, typer.Option("-m", "--measure", help="What is maximised: a name of ir_measures or trec_eval.")
    ] = "AP",
    k: Annotated[int, typer.Option("-k", help="Documents per query.")] = 1000,
    protocol: Annotated[
        str,
        typer.Option(
            "--protocol",
            help="all: the optimum over all queries, which is no test. samples: the mean of the optima of random "
            "samples, tested on the other queries. folds: for each fold the optimum of the other folds.",
        ),
    ] = "all",
    n_samples: Annotated[int | None, typer.Option("--samples", help="samples: how many. [default: 5]")] = None,
    sample_size: Annotated[int | None, typer.Option("--sample-size", help="samples: queries in each.")] = None,
    folds: Annotated[
        Path | None, typer.Option("--folds", help="folds: a file of folds, ours, Anserini's or Capreolus'.")
    ] = None,
    n_folds: Annotated[
        int | None, typer.Option("--make-folds", help="folds: make this many at random; written to FOLDER/folds.json.")
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(
            "--choose-by",
            help="folds: rest: mean over train and dev; dev: over dev alone; yang19: sum of the means of the other "
            "folds, ties to the setting that is largest as text. [default: rest]",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of samples and made folds.")] = 42,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes; all cores. The result is the same.", min=1)
    ] = None,
    field: Annotated[str | None, typer.Option("--field", help="Topic field to use: title, description, ...")] = None,
    query_format: Annotated[
        str | None, typer.Option("--query-format", help="Format of the queries, if it cannot be guessed.")
    ] = None,
    allow_empty_query: Annotated[
        bool, typer.Option("--allow-empty-query", help="Queries without text find nothing instead of being refused.")
    ] = False,
    format: Annotated[
        str, typer.Option("--format", help="Of what is printed: table, json, csv or markdown.")
    ] = "table",
) -> None:
    """Search a grid of settings for the best first stage.

    Writes tuning.json, the run of what was chosen, and heat maps (with the extra plots) to FOLDER.

    Example: longrank tune my.index topics.jsonl qrels.txt -o tuned --grid k1=0.6:1.2:0.1 --grid b=0.5:0.9:0.1
    --protocol folds --make-folds 5
    """
    from longrank.cli.inputs import choice
    from longrank.collections import read_qrels, read_queries
    from longrank.config import override
    from longrank.evaluation.folds import make_folds
    from longrank.evaluation.measures import parse_measure
    from longrank.evaluation.tuning.folder import JOURNAL, check_own, write_outcome
    from longrank.evaluation.tuning.grids import parse_axes
    from longrank.evaluation.tuning.report import RENDERERS, as_json
    from longrank.evaluation.tuning.search import (
        Search,
        check_axes,
        judged_queries,
        rankings,
        tabulate,
        tunable,
        untried,
    )
    from longrank.processes import cores
    from longrank.storage.workplace import working_in
    from longrank.types import Notes

    notes = Notes()
    choice("--format", format, ["json", *RENDERERS])
    if k < 1:
        raise InputError("-k must be at least 1", got=k)
    check_own(output)
    fixed = override({}, assignments or ())
    axes = parse_axes(grid, tunable(preset, fixed))
    measure = str(parse_measure(measure))
    judgments = read_qrels(qrels, notes)
    judged = judged_queries(
        read_queries(queries, notes, format=query_format, field=field, allow_empty=allow_empty_query), judgments, notes
    )
    wanted = {query.query_id: judgments[query.query_id] for query in judged}
    search = Search(index, preset, fixed, judged, wanted, measure, k)
    check_axes(search, axes)
    made = None if n_folds is None else make_folds(list(wanted), n_folds, seed)
    given: dict[str, Any] = {"--samples": n_samples, "--sample-size": sample_size}
    given |= {"--folds": folds, "--make-folds": made, "--choose-by": rule}
    how = _protocol(protocol, given, seed, notes)
    how.choose(untried(search, axes))  # what these queries do not allow is refused before any work
    with working_in(output):
        with console.progress("tuning", math.prod(map(len, axes.values())), "settings") as advance:
            table = tabulate(search, axes, output / JOURNAL, workers=workers or cores(), progress=advance)
        outcome = how.conclude(table, how.choose(table), search.figure)
        everything = as_json(table, outcome, {"protocol": how.about(), **search.header(axes)})
        write_outcome(output, everything, rankings(search, outcome.setting_of, notes), made, folds)
        _about_edges(axes, table, notes)
        print(everything if format == "json" else RENDERERS[format](table, outcome), end="")
        console.show_notes(notes)
        _draw(output, axes, table, outcome)


def _protocol(name: str, given: Mapping[str, Any], seed: int, notes: Notes) -> TuningProtocol:
    """Return the protocol with its options.

    Raises:
        InputError: an unknown protocol, an option of another one, or one that is missing.
    """
    from longrank.cli.inputs import choice
    from longrank.evaluation.tuning.protocols import PROTOCOLS, OnAll, OnSamples

    choice("--protocol", name, list(PROTOCOLS))
    for other, options in _OPTIONS.items():
        for option in options:
            if other != name and given[option] is not None:
                raise InputError(f"{option} belongs to --protocol {other}", got=name)
    if name == "folds":
        return _on_folds(given, notes)
    if name == "all":
        return OnAll()
    if given["--sample-size"] is None:
        raise InputError("--protocol samples needs --sample-size", fix="the queries of no sample are tested on")
    return OnSamples(5 if given["--samples"] is None else given["--samples"], given["--sample-size"], seed)


def _on_folds(given: Mapping[str, Any], notes: Notes) -> TuningProtocol:
    from longrank.cli.inputs import choice
    from longrank.evaluation.tuning.protocols import OnFolds
    from longrank.evaluation.tuning.rules import RULES
    from longrank.formats.folds import read_folds

    rule = choice("--choose-by", given["--choose-by"] or "rest", list(RULES))
    file, made = given["--folds"], given["--make-folds"]
    if (file is None) == (made is None):
        raise InputError("--protocol folds takes one of --folds FILE and --make-folds N")
    return OnFolds(made or read_folds(file, notes), rule, notes)


def _draw(folder: Path, axes: Axes, table: GridValues, outcome: Outcome) -> None:
    """Draw the grid, or say what is missing for it."""
    from longrank.evaluation.plots import plot_grid

    marks = {}
    if len(outcome.choices) > 1:
        part = "sample" if outcome.setting else "fold"
        marks[f"optimum of a {part} (larger: of several)"] = [table.settings[one.setting] for one in outcome.choices]
    if outcome.setting and outcome.name == "mean":
        marks["mean of the optima"] = [outcome.setting]
    try:
        plot_grid(folder, table.measure, axes, table.figures(table.query_ids), marks)
    except MissingExtra as missing:
        console.note(f"no heat map: {missing}")


def _about_edges(axes: Axes, table: GridValues, notes: Notes) -> None:
    best = table.settings[table.best(table.query_ids)]
    for name, values in axes.items():
        if len(values) > 1 and best[name] in (values[0], values[-1]):
            notes.say(
                f"the best {name} over all queries, {best[name]}, is at an end of its axis: is the grid wide enough?"
            )
