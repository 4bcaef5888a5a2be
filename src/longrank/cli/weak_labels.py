"""``longrank weak-labels``: examples for a bi-encoder, from judged documents and an un-tuned model's evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli import console
from longrank.cli.options import Qrels, QueriesSource, QueryFormat
from longrank.errors import InputError
from longrank.verbs.naming import naming_files


@naming_files
def weak_labels(
    index: Annotated[Path, typer.Argument(help="The index with the documents' texts.", metavar="INDEX")],
    queries: QueriesSource,
    qrels: Qrels,
    run: Annotated[
        Path, typer.Argument(help="The first stage: a TREC run, whose documents are negatives.", metavar="RUN")
    ],
    evidence: Annotated[
        Path, typer.Argument(help="Evidence of the un-tuned model on the documents' sentences.", metavar="EVIDENCE")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="File for the training examples.")],
    dev: Annotated[
        Path | None, typer.Option(help="File for the validation examples; without it, all examples are to train on.")
    ] = None,
    dev_share: Annotated[
        float | None, typer.Option(help="With --dev: share of the examples that validates. [default: 0.1]")
    ] = None,
    folds: Annotated[
        Path | None, typer.Option(help="File of folds (LongRank, Anserini or Capreolus); with --fold.")
    ] = None,
    fold: Annotated[
        str | None, typer.Option(help="With --folds: label for the train queries of this fold only.")
    ] = None,
    depth: Annotated[int, typer.Option(help="First documents, not relevant, that negatives are drawn from.")] = 50,
    repeats: Annotated[int, typer.Option(help="Examples per relevant document.")] = 5,
    unjudged: Annotated[
        bool, typer.Option("--unjudged/--judged-only", help="Allow unjudged documents as negatives.")
    ] = True,
    relevance_level: Annotated[int, typer.Option("--level", "-l", help="Least grade of a relevant document.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the negatives, their order and the validation share.")] = 42,
    query_format: QueryFormat = None,
    field: Annotated[str | None, typer.Option(help="Topic field to use: title, description, ...")] = None,
) -> None:
    """Label sentences by judged documents (Santos et al.).

    The best sentence of a relevant document is taken to be relevant; the best sentence of another document is not.
    The model's scores say which sentence is best. Each example is a line {"query": ..., "texts": [relevant, other]} for
    train-passages.

    Example: longrank weak-labels my.index topics.jsonl qrels.txt bm25.run santos.run.evidence -o train.jsonl
    --dev dev.jsonl --folds folds.json --fold s1
    """
    from longrank.cli.inputs import output_file
    from longrank.collections import places, read_qrels, read_queries, read_run
    from longrank.index import Index
    from longrank.training.passage_data.examples import write_examples
    from longrank.training.passage_data.rows import check_not_packed
    from longrank.training.weak_labels import WeakLabelOptions, training_queries, weak_examples
    from longrank.types import Notes

    notes = Notes()
    inputs = (index, *places(queries, "queries"), *places(qrels, "qrels"), run, evidence, folds)
    for path, other in ((output, dev), (dev, None)):
        if path is not None:
            check_not_packed(path)
            output_file(path, *inputs, other)
    options = WeakLabelOptions(relevance_level, depth, repeats, unjudged, _share(dev, dev_share))
    known = {query.query_id: query for query in read_queries(queries, notes, format=query_format, field=field)}
    judged = read_qrels(qrels, notes)
    query_ids = training_queries(known, judged, folds, fold, notes)
    examples = weak_examples(
        query_ids,
        queries=known,
        qrels=judged,
        run=read_run(run, notes),
        index=Index.open(index),
        evidence=evidence,
        options=options,
        seed=seed,
        notes=notes,
    )
    for path, part in zip((output, dev), examples, strict=True):
        if path is not None:
            written = write_examples(part, path, before=dev if path == output else None)
            console.note(f"{path}: {written} examples")
    console.show_notes(notes)


def _share(dev: Path | None, share: float | None) -> float:
    """Return the share of the examples that validates.

    Raises:
        InputError: a share without a file, or of 0.
    """
    if dev is None and share is not None:
        raise InputError("--dev-share belongs to --dev", got=share)
    if dev is None:
        return 0.0
    if share == 0:
        raise InputError("--dev-share leaves nothing to validate on", got=share, fix="leave --dev out")
    return 0.1 if share is None else share  # the paper's
