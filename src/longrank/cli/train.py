"""``longrank train`` and ``longrank train-passages``: train a network on rankings or on examples."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from longrank.cli import console
from longrank.cli.options import Engine, Plot, QueryFormat, Resources, Workers

Training = Annotated[
    str, typer.Argument(help="Name of a shipped training, or a TOML file with its settings.", metavar="TRAINING")
]
Output = Annotated[Path, typer.Option("-o", "--output", help="Folder for the result; the same command resumes in it.")]
Dev = Annotated[Path | None, typer.Option("--dev", help="Examples to validate on, every loop.validate_every steps.")]
Assignments = Annotated[list[str] | None, typer.Option("--set", help="section.key=value, any setting of the training.")]
TensorBoard = Annotated[bool, typer.Option("--tensorboard", help="Also write a log for TensorBoard.")]


def train(
    training: Training,
    data: Annotated[
        Path,
        typer.Argument(help="The index with the documents' texts; or examples, as train-passages.", metavar="INDEX"),
    ],
    output: Output,
    queries: Annotated[
        str | None,
        typer.Argument(help="Queries: JSONL, TSV, TREC topics, a collection folder, or irds:ID.", metavar="QUERIES"),
    ] = None,
    qrels: Annotated[
        str | None,
        typer.Argument(help="Judgments: a TREC qrels file, a collection folder, or irds:ID.", metavar="QRELS"),
    ] = None,
    run: Annotated[
        Path | None, typer.Argument(help="The first stage: a TREC run of the queries, from any engine.", metavar="RUN")
    ] = None,
    dev: Dev = None,
    folds: Annotated[
        Path | None, typer.Option(help="Train once per fold of this file (LongRank, Anserini or Capreolus).")
    ] = None,
    n_folds: Annotated[int | None, typer.Option("--make-folds", help="Make this many folds at random.")] = None,
    group_by: Annotated[
        str | None, typer.Option(help="With --make-folds: queries of equal FIELD stay together.")
    ] = None,
    fold_seed: Annotated[int | None, typer.Option(help="With --make-folds: seed of the draw. [default: 42]")] = None,
    only: Annotated[list[str] | None, typer.Option("--fold", help="Train only this fold now; repeatable.")] = None,
    score_cache: Annotated[
        Path | None, typer.Option(help="Cache file for passage vectors (needs network.frozen = true).")
    ] = None,
    engine: Engine = None,
    workers: Workers = None,
    resources: Resources = None,
    query_format: QueryFormat = None,
    field: Annotated[str | None, typer.Option(help="Topic field to use: title, description, ...")] = None,
    assignments: Assignments = None,
    tensorboard: TensorBoard = False,
    plot: Plot = None,
) -> None:
    """Train a document network: PARADE, CEDR, MaxP or kin.

    With folds, there is one training per fold: it learns from the train queries, keeps the weights that are best on the
    dev queries, and reranks the test queries. FOLDER/test.run has the test queries of all folds. Interrupted work
    resumes to the same bytes. With --engine, workers train a fold each.

    Networks of passages learn from examples: see train-passages.

    Example: longrank train parade my.index topics.jsonl qrels.txt bm25.run -o parade --make-folds 5
    """
    from longrank.cli.inputs import folds_or_number, output_folder, plot_file
    from longrank.collections import places

    files = () if queries is None or qrels is None else (*places(queries, "queries"), *places(qrels, "qrels"))
    output_folder(output, *files, run, data, folds, score_cache, dev)
    plot_file(plot, *files, run, folds, score_cache, dev, within=output)
    options = {"only": only or (), "group_by": group_by, "fold_seed": fold_seed, "score_cache": score_cache}
    options |= {"engine": engine, "workers": workers, "resources": resources}
    options |= {"folds": folds_or_number(folds, n_folds), "format": query_format, "field": field}
    _train(
        training,
        data,
        queries,
        qrels,
        run,
        output=output,
        dev=dev,
        assignments=assignments,
        tensorboard=tensorboard,
        plot=plot,
        **options,
    )


def train_passages(
    training: Training,
    examples: Annotated[
        Path,
        typer.Argument(help="JSONL: a query with a text and its label, or with a group of texts.", metavar="EXAMPLES"),
    ],
    output: Output,
    dev: Dev = None,
    assignments: Assignments = None,
    tensorboard: TensorBoard = False,
    plot: Plot = None,
) -> None:
    """Train a cross-encoder, a bi-encoder or doc2query.

    A line of EXAMPLES is {"query": ..., "text": ..., "label": 0 or 1}, or a group, the relevant text first:
    {"query": ..., "texts": [...]}, with "taught", a teacher's score of each text, for losses that distil. With --dev
    the best weights are kept. The model is FOLDER/model. Interrupted work resumes to the same bytes.

    Example: longrank train-passages monobert rows.jsonl -o passages --dev dev.jsonl
    """
    from longrank.cli.inputs import output_folder, plot_file

    output_folder(output, examples, dev)
    plot_file(plot, examples, dev, within=output)
    _train(training, examples, output=output, dev=dev, assignments=assignments, tensorboard=tensorboard, plot=plot)


def _train(
    training: str,
    *data: Any,
    output: Path,
    assignments: list[str] | None,
    plot: Path | None,
    **options: Any,
) -> None:
    """Train, and show a progress bar per fold and the remarks."""
    from longrank.types import Notes
    from longrank.verbs.train import train as verb

    notes = Notes()
    with ExitStack() as bars:

        def begin(name: str, steps: int) -> Callable[[int], object]:
            bars.close()
            if not console.is_first():
                return lambda n: None
            unit = "queries" if name.endswith("test") else "folds" if name == "folds" else "steps"
            return bars.enter_context(console.progress(name, steps, unit))

        settings = {"assignments": assignments or (), **options}
        trained = verb(training, *data, output=output, progress=begin, notes=notes, **settings)
    if console.is_first():
        if plot is not None:
            trained.draw(plot)
        console.show_notes(notes)
        console.note(f"{output}: {trained.network} trained")
