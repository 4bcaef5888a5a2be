"""``longrank retrieve``: the first stage, from queries to a run file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longrank.cli import console
from longrank.errors import InputError

if TYPE_CHECKING:
    from longrank.protocols import Retriever
    from longrank.types import Notes, Query, ScoredDoc

_NOTHING = "queries without results"


def retrieve(
    index: Annotated[Path, typer.Argument(help="The index to search.", metavar="INDEX")],
    queries: Annotated[
        str,
        typer.Argument(help="Queries: JSONL, TSV, TREC topics, a collection folder, or irds:ID.", metavar="QUERIES"),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the TREC run goes; .gz packs it.")],
    k: Annotated[int, typer.Option("-k", help="Documents per query.")] = 1000,
    preset: Annotated[str, typer.Option("--preset", help="Parameters of BM25 by name.")] = "bm25-anserini",
    k1: Annotated[float | None, typer.Option("--k1", help="Saturation of term frequency, from 0.")] = None,
    b: Annotated[float | None, typer.Option("--b", help="Weight of document length, 0 to 1.")] = None,
    doc_lengths: Annotated[
        str, typer.Option("--doc-lengths", help="lucene: rounded to one byte, for its very scores; exact.")
    ] = "lucene",
    field: Annotated[str | None, typer.Option("--field", help="Topic field to use: title, description, ...")] = None,
    query_format: Annotated[
        str | None, typer.Option("--query-format", help="Format of the queries, if it cannot be guessed.")
    ] = None,
    allow_empty_query: Annotated[
        bool, typer.Option("--allow-empty-query", help="Queries without text find nothing instead of being refused.")
    ] = False,
    tag: Annotated[str, typer.Option("--tag", help="The run's tag.")] = "longrank",
) -> None:
    """Rank documents by BM25, as Lucene computes it.

    Example: longrank retrieve my.index topics.jsonl -o bm25.run
    """
    from longrank.cli.inputs import load_queries, output_file
    from longrank.formats.trec import write_rankings
    from longrank.index import Index
    from longrank.retrieval import make_retriever
    from longrank.types import Notes

    notes = Notes()
    output_file(output, queries)
    if k < 1:
        raise InputError("-k must be at least 1", got=k)
    first_stage = make_retriever(Index.open(index), preset, k1=k1, b=b, doc_lengths=doc_lengths, notes=notes)
    wanted = load_queries(queries, notes, query_format, field, allow_empty_query)
    with console.progress("retrieving", len(wanted), "queries") as advance:
        write_rankings(tag, _rankings(first_stage, wanted, k, notes, advance), output)
    console.show_notes(notes)
    console.note(f"{output}: {len(wanted) - notes[_NOTHING]} queries with results")


def _rankings(
    first_stage: Retriever, queries: Sequence[Query], k: int, notes: Notes, advance: Callable[[int], None]
) -> Iterator[Sequence[ScoredDoc]]:
    """Yield the ranking of each query that has one; only one at a time is in memory."""
    from longrank.types import Run

    for query in queries:
        ranking = Run("", first_stage.retrieve(query, k)).get(query.query_id)
        if ranking:
            yield ranking
        else:
            notes.add(_NOTHING, query.query_id)
        advance(1)
