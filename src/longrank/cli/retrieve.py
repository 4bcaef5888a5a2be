"""``longrank retrieve``: the first stage, from queries to a run file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli import console


def retrieve(
    index: Annotated[Path, typer.Argument(help="The index to search.", metavar="INDEX")],
    queries: Annotated[str, typer.Argument(help="Queries: JSONL, TSV, TREC topics, or irds:ID.", metavar="QUERIES")],
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
    from longrank.cli.inputs import load_queries
    from longrank.formats.trec import write_run
    from longrank.index import Index
    from longrank.retrieval import make_retriever
    from longrank.storage import check_writable
    from longrank.types import Notes, Run

    notes = Notes()
    check_writable(output)
    opened = Index.open(index)
    first_stage = make_retriever(opened, preset, k1=k1, b=b, doc_lengths=doc_lengths, notes=notes)
    wanted = load_queries(queries, notes, query_format, field, allow_empty_query)
    with console.progress("retrieving", len(wanted), "queries") as advance:
        rows = []
        for query in wanted:
            rows += first_stage.retrieve(query, k)
            advance(1)
    run = Run(tag, rows)
    write_run(run, output)
    notes.add(
        "queries without results",
        next((q.query_id for q in wanted if q.query_id not in run), ""),
        len(wanted) - len(run),
    )
    console.show_notes(notes)
    console.note(f"{output}: {len(run)} queries, {len(rows)} documents")
