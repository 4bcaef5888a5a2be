"""``longrank retrieve``: the first stage, from queries to a run file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longrank.cli import console
from longrank.errors import InputError, printable

if TYPE_CHECKING:
    from longrank.retrieval import Searcher, WithFeedback
    from longrank.types import Notes, Query, ScoredDoc

_NOTHING = "queries without results"


def retrieve(
    index: Annotated[
        Path, typer.Argument(help="The index to search; or lucene:PATH, one of Lucene's.", metavar="INDEX")
    ],
    queries: Annotated[
        str,
        typer.Argument(help="Queries: JSONL, TSV, TREC topics, a collection folder, or irds:ID.", metavar="QUERIES"),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the TREC run goes; .gz packs it.")],
    k: Annotated[int, typer.Option("-k", help="Documents per query.")] = 1000,
    preset: Annotated[
        str, typer.Option("--preset", help="A first stage by name, e.g. bm25-lucene+rm3; docs/names.md has all.")
    ] = "bm25-anserini",
    similarity: Annotated[str | None, typer.Option("--similarity", help="bm25; ql: query likelihood.")] = None,
    k1: Annotated[float | None, typer.Option("--k1", help="BM25: saturation of term frequency, from 0.")] = None,
    b: Annotated[float | None, typer.Option("--b", help="BM25: weight of document length, 0 to 1.")] = None,
    mu: Annotated[float | None, typer.Option("--mu", help="Query likelihood: smoothing, above 0.")] = None,
    doc_lengths: Annotated[
        str | None, typer.Option("--doc-lengths", help="lucene: rounded to one byte, for its very scores; exact.")
    ] = None,
    feedback: Annotated[
        str | None, typer.Option("--feedback", help="Expand queries: none, rm3, bm25prf, axiomatic or rocchio.")
    ] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="key=value: any setting above, or an option of the feedback.")
    ] = None,
    explain_query: Annotated[
        bool, typer.Option("--explain-query", help="Print each query as it is searched for: terms and weights.")
    ] = False,
    expanded_queries: Annotated[
        Path | None, typer.Option("--expanded-queries", help="Write them to this file, as JSON lines.")
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            help="Queries searched at a time; all cores. Below 500,000 documents one at a time is faster, and done.",
            min=1,
        ),
    ] = None,
    field: Annotated[str | None, typer.Option("--field", help="Topic field to use: title, description, ...")] = None,
    query_format: Annotated[
        str | None, typer.Option("--query-format", help="Format of the queries, if it cannot be guessed.")
    ] = None,
    allow_empty_query: Annotated[
        bool, typer.Option("--allow-empty-query", help="Queries without text find nothing instead of being refused.")
    ] = False,
    tag: Annotated[str, typer.Option("--tag", help="The run's tag.")] = "longrank",
) -> None:
    """Find candidates by BM25, query likelihood or feedback.

    Scores are those of Lucene and Anserini. For the index of another engine: lucene:PATH.

    Example: longrank retrieve my.index topics.jsonl -o rm3.run --feedback rm3 --set fb_docs=5
    """
    from longrank.cli.inputs import output_file
    from longrank.collections import places, read_queries
    from longrank.config import override
    from longrank.formats.trec import write_rankings
    from longrank.retrieval import Searcher, WithFeedback, first_stage, open_retriever, retrieve_all
    from longrank.types import Notes

    notes = Notes()
    output_file(output, *places(queries, "queries"), index, expanded_queries)
    if expanded_queries:
        output_file(expanded_queries, *places(queries, "queries"), index)
    if k < 1:
        raise InputError("-k must be at least 1", got=k)
    options = {"similarity": similarity, "k1": k1, "b": b, "mu": mu, "doc_lengths": doc_lengths, "feedback": feedback}
    settings = override(options, assignments or ())
    retriever = open_retriever(str(index), first_stage(settings.pop("preset", preset), settings), notes=notes)
    explained = retriever if explain_query or expanded_queries else None
    if explained is not None and not isinstance(explained, Searcher | WithFeedback):
        raise InputError("only for an index of our own can queries be shown as they are searched for", got=str(index))
    wanted = read_queries(queries, notes, format=query_format, field=field, allow_empty=allow_empty_query)
    with console.progress("retrieving", len(wanted), "queries") as advance:
        rankings = retrieve_all(retriever, wanted, k, threads or console.cores())
        write_rankings(tag, _found(rankings, wanted, notes, advance), output)
    if explained is not None:
        _explain(explained, wanted, shown=explain_query, path=expanded_queries)
    console.show_notes(notes)
    console.note(f"{output}: {len(wanted) - notes[_NOTHING]} queries with results")


def _found(
    rankings: Iterable[list[ScoredDoc]], queries: Sequence[Query], notes: Notes, advance: Callable[[int], None]
) -> Iterator[list[ScoredDoc]]:
    """Pass on the ranking of each query that has one."""
    for query, ranking in zip(queries, rankings, strict=True):
        if ranking:
            yield ranking
        else:
            notes.add(_NOTHING, query.query_id)
        advance(1)


def _explain(first_stage: Searcher | WithFeedback, queries: Sequence[Query], *, shown: bool, path: Path | None) -> None:
    """Print what was searched for, heaviest terms first, or write it to a file."""
    from longrank.storage import atomic_write
    from longrank.types import Notes

    quiet = first_stage.noting(Notes())  # its remarks have been made
    records: list[dict[str, Any]] = []
    for query in queries:
        found = quiet.expand(query)
        terms = dict(sorted(found.terms.items(), key=lambda item: (-item[1], item[0])))
        records.append({"query_id": query.query_id, "expanded": found.expanded, "terms": terms})
    if path:
        with atomic_write(path, "w") as stream:
            stream.writelines(f"{json.dumps(record)}\n" for record in records)
    for record in records if shown else ():
        weighted = " ".join(f"{printable(term)}^{weight:.4g}" for term, weight in record["terms"].items())
        typer.echo(f"{record['query_id']}\t{'expanded' if record['expanded'] else 'as it is'}\t{weighted}")
