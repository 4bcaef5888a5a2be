"""``longrank rows``: make training rows (query, text, label) of the papers' passage data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from longrank.cli import console
from longrank.errors import InputError

if TYPE_CHECKING:
    from longrank.training.passage_data.rows import Row
    from longrank.types import Document, Notes

T = TypeVar("T")
_SEED = 42

rows = typer.Typer(help="Make training rows of Microblog, MS MARCO and CAR.", rich_markup_mode=None)
Output = Annotated[Path, typer.Option("-o", "--output", help="Output file, JSONL.")]


@rows.command("microblog")
def microblog(
    sources: Annotated[
        list[str], typer.Argument(help="Tweets: documents as longrank index reads them, or irds:ID.", metavar="SOURCE")
    ],
    queries: Annotated[list[Path], typer.Option(help="Topics of one year; repeatable.")],
    qrels: Annotated[list[Path], typer.Option(help="Judgments of one year; repeatable.")],
    output: Output,
    dev: Annotated[Path | None, typer.Option(help="Output file for the rows of the validation queries.")] = None,
    dev_queries: Annotated[
        int | None, typer.Option(help="With --dev: number of validation queries. [default: 59]")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help=f"With --dev: seed of their random choice. [default: {_SEED}]")
    ] = None,
    format: Annotated[str | None, typer.Option(help="Format of the tweets, if the file name does not tell it.")] = None,
) -> None:
    """Make one row per judged tweet of TREC Microblog.

    Grades 1 and 2 are relevant. The query is the topic's title; URLs are removed from tweets. With --dev, 59 of the 225
    queries are drawn at random for validation (Birch).

    Example: longrank rows microblog tweets.jsonl --queries topics.microblog2011.txt --qrels qrels.microblog2011.txt
    --queries topics.microblog2012.txt --qrels qrels.microblog2012.txt -o rows.jsonl --dev dev.jsonl
    """
    from longrank.cli.inputs import output_file
    from longrank.collections.documents import paths_of
    from longrank.training.passage_data.microblog import (
        DEV_QUERIES,
        microblog_rows,
        read_microblog_qrels,
        read_microblog_queries,
    )
    from longrank.training.passage_data.rows import check_not_packed, split_queries
    from longrank.types import Notes

    notes = Notes()
    check_not_packed(output)
    tweets = paths_of(sources)
    output_file(output, *tweets, *queries, *qrels, dev)
    for option, value in (("--dev-queries", dev_queries), ("--seed", seed)):
        if dev is None and value is not None:
            raise InputError(f"{option} belongs to --dev", got=value)
    if dev is not None:
        check_not_packed(dev)
        output_file(dev, *tweets, *queries, *qrels)
    topics, judged = read_microblog_queries(queries, notes), read_microblog_qrels(qrels, notes)
    unknown = sorted(judged.keys() - {query.query_id for query in topics})
    notes.add("judged topics without a query, left out", next(iter(unknown), ""), len(unknown))
    parts = {output: topics}
    if dev is not None:
        n_dev = DEV_QUERIES if dev_queries is None else dev_queries
        parts[output], parts[dev] = split_queries(topics, n_dev, _SEED if seed is None else seed)
    by_path = {}
    for path, part in parts.items():
        # Tweets are read once per part, but their faults are counted once.
        read = _tweets(sources, format, notes if path == output else Notes())
        by_path[path] = list(microblog_rows(part, judged, read, notes))
        if not by_path[path]:
            raise InputError("no tweet is judged for the queries of this file, so it would be empty", path=path)
    for path, part_rows in by_path.items():
        _write(part_rows, path, before=dev if path == output else None)
    console.show_notes(notes)


@rows.command("msmarco")
def msmarco(
    triples: Annotated[
        Path, typer.Argument(help="Tab-separated lines: query, relevant passage, other passage.", metavar="TRIPLES")
    ],
    output: Output,
    n_triples: Annotated[
        int | None, typer.Option("--triples", help="Number of triples to read; each gives two rows. [default: all]")
    ] = None,
) -> None:
    """Make two rows per training triple of MS MARCO.

    The published models were trained on the first 6,400,000 triples: 12.8 million rows.

    Example: longrank rows msmarco triples.train.small.tsv -o rows.jsonl --triples 6400000
    """
    from longrank.cli.inputs import output_file
    from longrank.training.passage_data.msmarco import msmarco_rows
    from longrank.types import Notes

    notes = Notes()
    output_file(output, triples)
    with console.progress("writing", n_triples and 2 * n_triples, "rows") as advance:
        _write(_counted(msmarco_rows(triples, notes, n_triples), advance), output)
    console.show_notes(notes)


@rows.command("car")
def car(
    index: Annotated[Path, typer.Argument(help="Index of the paragraphs.", metavar="INDEX")],
    queries: Annotated[Path, typer.Argument(help="Topics of a fold: one heading path per line.", metavar="QUERIES")],
    qrels: Annotated[Path, typer.Argument(help="Automatic judgments of the fold.", metavar="QRELS")],
    run: Annotated[Path, typer.Argument(help="BM25 run of the fold.", metavar="RUN")],
    output: Output,
    depth: Annotated[int, typer.Option(help="Paragraphs per query.")] = 10,
) -> None:
    """Make one row per paragraph that BM25 ranks best, of TREC CAR.

    The query is an article's title and its headings. You may concatenate the files of several folds.

    Example: longrank rows car paragraphs.index fold-0.topics fold-0.qrels fold-0.run -o fold-0.jsonl
    """
    from longrank.cli.inputs import output_file
    from longrank.formats.queries import read_queries
    from longrank.formats.trec import read_qrels, read_run
    from longrank.index import Index
    from longrank.training.passage_data.car import car_rows
    from longrank.types import Notes

    notes = Notes()
    output_file(output, index, queries, qrels, run)
    headings, judged = read_queries(queries, notes, format="car"), read_qrels(qrels, notes)
    candidates, paragraphs = read_run(run, notes), Index.open(index)
    with console.progress("writing", None, "rows") as advance:
        _write(_counted(car_rows(headings, judged, candidates, paragraphs, notes, depth=depth), advance), output)
    console.show_notes(notes)


def _tweets(sources: list[str], format: str | None, notes: Notes) -> Iterator[Document]:
    from longrank.collections import read_documents
    from longrank.formats.records import CorpusOptions

    with console.progress("reading", None, "tweets") as advance:
        documents = read_documents(sources, CorpusOptions(format, ("text",)), notes)
        yield from _counted(documents, advance)


def _counted(items: Iterable[T], advance: Callable[[int], object]) -> Iterator[T]:
    for item in items:
        yield item
        advance(1)


def _write(training_rows: Iterable[Row], path: Path, *, before: Path | None = None) -> None:
    from longrank.training.passage_data.rows import write_rows

    counts = write_rows(training_rows, path, before=before)
    console.note(f"{path}: {sum(counts.values()):,} rows, {counts.get(1, 0):,} relevant")
