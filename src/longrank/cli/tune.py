"""``longrank tune``: search a grid of settings for the best first stage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longrank.cli import console
from longrank.cli.completion import presets
from longrank.cli.options import (
    ChooseBy,
    Field,
    Folds,
    MakeFolds,
    Measure,
    Plot,
    Qrels,
    QueriesSource,
    QueryFormat,
    TuningFormat,
)
from longrank.errors import MissingExtra

if TYPE_CHECKING:
    from longrank.evaluation.tuning.result import Tuning


def tune(
    index: Annotated[Path, typer.Argument(help="Index to search.", metavar="INDEX")],
    queries: QueriesSource,
    qrels: Qrels,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Result folder; repeat the command to resume.", metavar="FOLDER")
    ],
    grid: Annotated[
        list[str],
        typer.Option(
            metavar="AXIS",
            help="Repeatable; the values of a setting, as NAME=FIRST:LAST:STEP or NAME=VALUE,VALUE,... "
            "NAME is k1, b, mu, or an option of the feedback (fb_docs, ...).",
        ),
    ],
    preset: Annotated[
        str,
        typer.Option(
            help="First stage to tune, e.g. bm25-anserini+rm3; docs/names.md lists all.", autocompletion=presets
        ),
    ] = "bm25-anserini",
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="key=value: a setting with one value for the whole grid.")
    ] = None,
    measure: Measure = "AP",
    k: Annotated[int, typer.Option("-k", help="Documents per query.")] = 1000,
    protocol: Annotated[
        str | None,
        typer.Option(
            help="all: the optimum over all queries, which is no test. samples: the mean of the optima of random "
            "samples, tested on the other queries. folds: for each fold the optimum of the other folds. "
            "[default: the protocol whose options are given, else all]"
        ),
    ] = None,
    n_samples: Annotated[int | None, typer.Option("--samples", help="samples: number of samples. [default: 5]")] = None,
    sample_size: Annotated[int | None, typer.Option(help="samples: queries in each sample.")] = None,
    folds: Folds = None,
    n_folds: MakeFolds = None,
    rule: ChooseBy = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the samples and of the folds that are made. [default: 42]")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Processes; any number gives the same result. [default: all cores]", min=1)
    ] = None,
    field: Field = None,
    query_format: QueryFormat = None,
    allow_empty_query: Annotated[
        bool, typer.Option("--allow-empty-query", help="Accept queries without text; they retrieve no documents.")
    ] = False,
    format: TuningFormat = "table",
    plot: Plot = None,
) -> None:
    """Search a grid of settings for the best first stage.

    Writes tuning.json, the run of the chosen settings, and heat maps (with the extra plots) to FOLDER.

    Example: longrank tune my.index topics.jsonl qrels.txt -o tuned --grid k1=0.6:1.2:0.1 --grid b=0.5:0.9:0.1
    --protocol folds --make-folds 5
    """
    from longrank.cli.inputs import choice, folds_or_number, plot_file
    from longrank.collections import read_queries
    from longrank.config import override
    from longrank.engines import cores
    from longrank.evaluation.tuning.report import RENDERERS
    from longrank.types import Notes
    from longrank.verbs.tune import tune as tune_index

    choice("--format", format, ["json", *RENDERERS])
    plot_file(plot, within=output)
    notes = Notes()
    with console.progress("tuning", None, "settings") as advance:
        tuning = tune_index(
            index,
            read_queries(queries, notes, format=query_format, field=field, allow_empty=allow_empty_query),
            qrels,
            grid,
            preset=preset,
            settings=override({}, assignments or ()),
            measure=measure,
            k=k,
            protocol=protocol,
            folds=folds_or_number(folds, n_folds),
            choose_by=rule,
            samples=n_samples,
            sample_size=sample_size,
            seed=seed,
            folder=output,
            allow_empty=allow_empty_query,
            workers=workers or cores(),
            progress=advance,
            notes=notes,
        )
    show_tuning(tuning, format)
    if plot is not None:
        tuning.plot(plot)
    try:
        tuning.draw(output)
    except MissingExtra as missing:
        console.note(f"no heat map: {missing}")


def show_tuning(tuning: Tuning, format: str) -> None:
    """Print a result of tuning and its notes."""
    from longrank.evaluation.tuning.report import RENDERERS

    print(tuning.to_json() if format == "json" else RENDERERS[format](tuning.table, tuning.outcome), end="")
    console.show_notes(tuning.notes)
