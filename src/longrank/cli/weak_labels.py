"""``longrank weak-labels``: examples for a bi-encoder, from judged documents and an un-tuned model's evidence."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longrank.cli import console
from longrank.config import lookup
from longrank.errors import InputError

if TYPE_CHECKING:
    from longrank.types import Notes

_DEV_SHARE = 0.1  # the paper's


def weak_labels(
    index: Annotated[Path, typer.Argument(help="The index with the documents' texts.", metavar="INDEX")],
    queries: Annotated[
        str,
        typer.Argument(help="Queries: JSONL, TSV, TREC topics, a collection folder, or irds:ID.", metavar="QUERIES"),
    ],
    qrels: Annotated[
        str, typer.Argument(help="Judgments: a TREC qrels file, a collection folder, or irds:ID.", metavar="QRELS")
    ],
    run: Annotated[Path, typer.Argument(help="The first stage, whose documents are negatives.", metavar="RUN")],
    evidence: Annotated[
        Path,
        typer.Argument(help="Evidence of the un-tuned model on the documents' sentences.", metavar="EVIDENCE"),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the examples to train on go.")],
    dev: Annotated[
        Path | None,
        typer.Option("--dev", help="Where a share of them goes, to validate on; without it, all are to train on."),
    ] = None,
    dev_share: Annotated[
        float | None, typer.Option("--dev-share", help="With --dev: how large a share. [default: 0.1]")
    ] = None,
    folds: Annotated[
        Path | None, typer.Option("--folds", help="A file of folds: ours, Anserini's, Capreolus'; with --fold.")
    ] = None,
    fold: Annotated[str | None, typer.Option("--fold", help="Label for the train queries of this fold only.")] = None,
    depth: Annotated[
        int, typer.Option("--depth", help="Negatives are of so many first documents that are not relevant.")
    ] = 50,
    repeats: Annotated[int, typer.Option("--repeats", help="Examples of each relevant document.")] = 5,
    unjudged: Annotated[
        bool, typer.Option("--unjudged/--judged-only", help="Whether unjudged documents may be negatives.")
    ] = True,
    relevance_level: Annotated[int, typer.Option("--level", "-l", help="Least grade of a relevant document.")] = 1,
    seed: Annotated[int, typer.Option("--seed", help="Of negatives, order and what validates.")] = 42,
    query_format: Annotated[str | None, typer.Option("--query-format", help="If it cannot be guessed.")] = None,
    field: Annotated[str | None, typer.Option("--field", help="Topic field to use: title, description, ...")] = None,
) -> None:
    """Label sentences by judged documents (Santos et al.).

    The sentence of a relevant document that the model scores highest is taken to be relevant, that of another document
    not to be. Each example is a line {"query": ..., "texts": [relevant, other]} for train-passages.

    Example: longrank weak-labels my.index topics.jsonl qrels.txt bm25.run santos.run.evidence -o train.jsonl
    --dev dev.jsonl --folds folds.json --fold s1
    """
    from longrank.cli.inputs import output_file
    from longrank.collections import places, read_qrels, read_queries
    from longrank.formats.trec import read_run
    from longrank.index import Index
    from longrank.training.passage_data.examples import write_examples
    from longrank.training.passage_data.line_file import check_not_packed
    from longrank.training.weak_labels import WeakLabelOptions, evidence_of, triplet_examples
    from longrank.training.weak_labels import weak_labels as label
    from longrank.types import Notes

    notes = Notes()
    inputs = (index, *places(queries, "queries"), *places(qrels, "qrels"), run, evidence, folds)
    check_not_packed(output)
    output_file(output, *inputs, dev)
    options = WeakLabelOptions(relevance_level, depth, repeats, unjudged, _share(dev, dev_share))
    if dev is not None:
        check_not_packed(dev)
        output_file(dev, *inputs)
    known = {query.query_id: query for query in read_queries(queries, notes, format=query_format, field=field)}
    judged = read_qrels(qrels, notes)
    chosen = _chosen(known, judged, folds, fold, notes)
    documents = Index.open(index)
    found = evidence_of(documents, evidence)
    parts = label(chosen, judged, read_run(run, notes), found, options, seed=seed, notes=notes)
    examples = [list(triplet_examples(part, known, documents, notes)) for part in parts]
    if not examples[0] or (dev is not None and not examples[1]):
        raise InputError(
            "too few examples to train and to validate on",
            got=f"{len(examples[0])} and {len(examples[1])}",
            fix="give more judged documents or another --dev-share",
        )
    for path, part in zip((output, dev), examples, strict=True):
        if path is not None:
            console.note(f"{path}: {write_examples(part, path)} examples")
    console.show_notes(notes)


def _share(dev: Path | None, share: float | None) -> float:
    """Return the share of the examples that validates.

    Raises:
        InputError: there is a share, but no file for it; or it is none.
    """
    if dev is None and share is not None:
        raise InputError("--dev-share belongs to --dev", got=share)
    if dev is None:
        return 0.0
    if share == 0:
        raise InputError("--dev-share leaves nothing to validate on", got=share, fix="leave --dev out")
    return _DEV_SHARE if share is None else share


def _chosen(
    known: Collection[str], judged: Collection[str], folds: Path | None, fold: str | None, notes: Notes
) -> Collection[str]:
    """Return the queries to label for: the train queries of a fold, or all that are judged.

    Raises:
        InputError: one of the two options without the other, no such fold, no query in it, unknown ones, or none
            of the queries is judged.
    """
    from longrank.formats.folds import read_folds

    if (folds is None) != (fold is None):
        raise InputError("--folds and --fold belong together")
    if folds is None or fold is None:
        chosen: Collection[str] = [query_id for query_id in known if query_id in judged]
    else:
        chosen = lookup(read_folds(folds, notes), fold, "fold").train
    unknown = [query_id for query_id in chosen if query_id not in known]
    if unknown:
        raise InputError(f"fold '{fold}' trains on {len(unknown)} queries that the query file lacks", got=unknown[0])
    if not any(query_id in judged for query_id in chosen):
        raise InputError("no query to label for is judged", got=next(iter(judged), None))
    return chosen
