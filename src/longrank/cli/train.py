"""``longrank train``: fine-tune a document network, once or over folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longrank.cli import console
from longrank.errors import InputError

if TYPE_CHECKING:
    from longrank.formats.folds import Fold
    from longrank.training.folds import Progress
    from longrank.types import Notes, Query

_FOLD_SEED = 42


def train(
    training: Annotated[
        str, typer.Argument(help="What is trained and how: a name or a TOML file.", metavar="TRAINING")
    ],
    index: Annotated[Path, typer.Argument(help="The index with the documents' texts.", metavar="INDEX")],
    queries: Annotated[
        str,
        typer.Argument(help="Queries: JSONL, TSV, TREC topics, a collection folder, or irds:ID.", metavar="QUERIES"),
    ],
    qrels: Annotated[
        str, typer.Argument(help="Judgments: a TREC qrels file, a collection folder, or irds:ID.", metavar="QRELS")
    ],
    run: Annotated[
        Path, typer.Argument(help="The first stage: a TREC run of the queries, from any engine.", metavar="RUN")
    ],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", help="Folder for the result; the same command again goes on in it."),
    ],
    folds: Annotated[
        Path | None,
        typer.Option("--folds", help="Train once for each fold of this file: ours, Anserini's, Capreolus'."),
    ] = None,
    n_folds: Annotated[int | None, typer.Option("--make-folds", help="Make this many folds at random.")] = None,
    group_by: Annotated[
        str | None, typer.Option("--group-by", help="With --make-folds: queries of equal FIELD stay together.")
    ] = None,
    fold_seed: Annotated[
        int | None, typer.Option("--fold-seed", help=f"With --make-folds. [default: {_FOLD_SEED}]")
    ] = None,
    only: Annotated[list[str] | None, typer.Option("--fold", help="Do only this fold now; repeatable.")] = None,
    score_cache: Annotated[
        Path | None,
        typer.Option("--score-cache", help="With network.frozen: a file where what passages are read as is kept."),
    ] = None,
    query_format: Annotated[str | None, typer.Option("--query-format", help="If it cannot be guessed.")] = None,
    field: Annotated[str | None, typer.Option("--field", help="Topic field to use: title, description, ...")] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="section.key=value, any setting of the training.")
    ] = None,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write a log for TensorBoard.")] = False,
) -> None:
    """Train a document network: PARADE, CEDR, MaxP or kin.

    With folds, one training for each: learned on its train queries, the best weights chosen on its dev queries, and its
    test queries reranked; all test queries together are FOLDER/test.run. Interrupted work resumes to the same bytes.

    Example: longrank train parade my.index topics.jsonl qrels.txt bm25.run -o parade --make-folds 5
    """
    from longrank.cli.inputs import output_folder
    from longrank.collections import places, read_qrels, read_queries
    from longrank.formats.trec import read_run
    from longrank.index import Index
    from longrank.training.experiment import open_experiment
    from longrank.training.folds import cross_validate, train_once
    from longrank.training.settings import load_training
    from longrank.types import Notes

    notes = Notes()
    output_folder(output, *places(queries, "queries"), *places(qrels, "qrels"), run, index, folds, score_cache)
    settings = load_training(training, assignments or ())
    query_list = read_queries(queries, notes, format=query_format, field=field)
    judged = read_qrels(qrels, notes)
    known = {query.query_id: query for query in query_list}
    if not judged.keys() & known.keys():
        raise InputError("no query of the query file is judged", got=next(iter(judged), None))
    for query_id in sorted(judged.keys() - known.keys()):
        notes.add("judged topics that are not among the queries, left out", query_id)
    chosen = _folds([known[q] for q in known if q in judged], folds, n_folds, group_by, fold_seed, notes)
    if only and chosen is None:
        raise InputError("--fold chooses among folds", got=only[0], fix="give --folds or --make-folds")
    first = read_run(run, notes)
    experiment = open_experiment(
        settings, Index.open(index), known, judged, first, folds=chosen, notes=notes, score_cache=score_cache
    )
    with ExitStack() as shown:
        progress = _progress(shown)
        if chosen is None:
            train_once(experiment, output, progress=progress, notes=notes, tensorboard=tensorboard)
        else:
            cross_validate(experiment, output, only=only or (), progress=progress, notes=notes, tensorboard=tensorboard)
    if console.is_first():
        console.show_notes(notes)
        console.note(f"{output}: {settings.network.name} trained")


def _folds(
    queries: Sequence[Query], file: Path | None, n: int | None, group_by: str | None, seed: int | None, notes: Notes
) -> Mapping[str, Fold] | None:
    """Return the folds that are read, or made of the queries; None if there are to be none.

    Raises:
        InputError: both are asked for, or a field to group by that a query lacks.
    """
    from longrank.evaluation.folds import make_folds
    from longrank.formats.folds import read_folds

    if file is not None and n is not None:
        raise InputError("--folds and --make-folds are two ways to the same: give one of them")
    for option, value in (("--group-by", group_by), ("--fold-seed", seed)):
        if value is not None and n is None:
            raise InputError(f"{option} belongs to --make-folds", got=value)
    if file is not None:
        return read_folds(file, notes)
    if n is None:
        return None
    groups = None
    if group_by is not None:
        lacking = next((query.query_id for query in queries if group_by not in query.fields), None)
        if lacking is not None:
            fields = sorted({field for query in queries for field in query.fields})
            fix = f"fields: {', '.join(fields) or 'none'}"
            raise InputError(f"query '{lacking}' has no field to group by", got=group_by, fix=fix)
        groups = {query.query_id: query.fields[group_by] for query in queries}
    return make_folds([query.query_id for query in queries], n, _FOLD_SEED if seed is None else seed, groups)


def _progress(shown: ExitStack) -> Progress:
    """Return what begins a new bar for each fold, and ends the one before."""

    def begin(name: str, steps: int):  # type: ignore[no-untyped-def]
        shown.close()
        if not console.is_first():
            return lambda n: None
        unit = "queries" if name.endswith("test") else "steps"
        return shown.enter_context(console.progress(name, steps, unit))

    return begin
