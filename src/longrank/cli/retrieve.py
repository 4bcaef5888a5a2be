"""``longrank retrieve``: the first stage, from queries to a run file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longrank.cli import console
from longrank.cli.completion import presets
from longrank.cli.options import (
    Engine,
    Field,
    Filter,
    Lang,
    QueriesSource,
    QueryFormat,
    Resources,
    Tag,
    Where,
    Workers,
)
from longrank.errors import printable
from longrank.storage import atomic_write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from longrank.types import Query


def retrieve(
    ctx: typer.Context,
    index: Annotated[
        Path,
        typer.Argument(
            help="The index, lucene:PATH for an index of Lucene, or STORE:SETTINGS.toml for a store.", metavar="INDEX"
        ),
    ],
    queries: QueriesSource,
    output: Annotated[Path, typer.Option("-o", "--output", help="Output file, a TREC run; .gz compresses it.")],
    k: Annotated[int, typer.Option("-k", help="Documents per query.")] = 1000,
    preset: Annotated[
        str,
        typer.Option(
            help="First stage by name, e.g. bm25-lucene+rm3, dense or hybrid; docs/names.md lists them.",
            autocompletion=presets,
        ),
    ] = "bm25-anserini",
    similarity: Annotated[str | None, typer.Option(help="bm25 or ql (query likelihood).")] = None,
    k1: Annotated[float | None, typer.Option(help="BM25: term frequency saturation, 0 or more.")] = None,
    b: Annotated[float | None, typer.Option(help="BM25: document length weight, 0 to 1.")] = None,
    mu: Annotated[float | None, typer.Option(help="Query likelihood: smoothing, above 0.")] = None,
    doc_lengths: Annotated[
        str | None, typer.Option(help="Document lengths: lucene (8-bit, gives Lucene's scores) or exact.")
    ] = None,
    feedback: Annotated[
        str | None, typer.Option(help="Query expansion: none, rm3, bm25prf, axiomatic or rocchio.")
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="key=value: any setting above, or an option of the query expansion, dense or hybrid."
        ),
    ] = None,
    explain_query: Annotated[
        bool, typer.Option("--explain-query", help="Print the weighted terms of each query.")
    ] = False,
    expanded: Annotated[
        Path | None,
        typer.Option("--expanded-queries", help="Write the weighted terms of each query to this file, as JSON lines."),
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Search threads. [default: all cores]", min=1)] = None,
    engine: Engine = None,
    workers: Workers = None,
    resources: Resources = None,
    field: Field = None,
    query_format: QueryFormat = None,
    allow_empty_query: Annotated[
        bool, typer.Option("--allow-empty-query", help="Accept queries without text; they find nothing.")
    ] = False,
    where: Where = None,
    filter: Filter = None,
    lang: Lang = None,
    tag: Tag = "longrank",
) -> None:
    """Find candidates by words, vectors or both.

    Scores of words equal those of Lucene and Anserini. The presets dense and hybrid need stored vectors:
    longrank index INDEX --vectors minilm

    Examples: longrank retrieve my.index topics.jsonl -o rm3.run --feedback rm3 --set fb_docs=5

    longrank retrieve my.index topics.jsonl -o hybrid.run --preset hybrid --where 'year>=2020'
    """
    from longrank.cli.inputs import given_options, output_file, run_file
    from longrank.collections import places, read_queries
    from longrank.config import override, refuse_twice
    from longrank.engines import EngineOptions
    from longrank.formats.trec import write_rankings
    from longrank.index.filter_parsing import parsed_filter
    from longrank.retrieval import first_stage, opened
    from longrank.retrieval.blocks import Search
    from longrank.types import Notes
    from longrank.verbs.retrieve import NO_RESULTS, expanded_queries, of_language, rankings

    notes = Notes()
    run_file(output, *places(queries, "queries"), index, expanded)
    if expanded:
        output_file(expanded, *places(queries, "queries"), index)
    options = {"similarity": similarity, "k1": k1, "b": b, "mu": mu, "doc_lengths": doc_lengths, "feedback": feedback}
    refuse_twice(options | ({"preset": preset} if "preset" in given_options(ctx) else {}), assignments or ())
    settings = override(options, assignments or ())
    stage = first_stage(settings.pop("preset", preset), settings)
    search = Search(opened(index), stage, parsed_filter(filter, where or ()), k)
    retriever = search.open(notes)
    query_list: Sequence[Query] = read_queries(
        queries, notes, format=query_format, field=field, allow_empty=allow_empty_query
    )
    query_list = of_language(query_list, lang, search, notes)
    records = expanded_queries(retriever, query_list) if explain_query or expanded else []
    with console.telling_compilation(), console.progress("retrieving", len(query_list), "queries") as advance:
        spread = EngineOptions(engine, workers, resources)
        found = rankings(search, retriever, query_list, threads=threads, engine=spread, notes=notes, progress=advance)
        write_rankings(tag, found, output)
    if expanded:
        with atomic_write(expanded, "w") as stream:
            stream.writelines(f"{json.dumps(record)}\n" for record in records)
    for record in records if explain_query else ():
        weighted = " ".join(f"{printable(term)}^{weight:.4g}" for term, weight in record["terms"].items())
        typer.echo(f"{record['query_id']}\t{'expanded' if record['expanded'] else 'as it is'}\t{weighted}")
    console.show_notes(notes)
    console.note(f"{output}: {len(query_list) - notes[NO_RESULTS]} queries with results")
