"""``longrank expand``: predict queries for documents (doc2query)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli import console
from longrank.cli.options import Convert, Engine, Resources, Workers


def expand(
    source: Annotated[
        str,
        typer.Argument(
            help="An index, a collection folder, irds:ID, or documents as longrank index reads them.", metavar="SOURCE"
        ),
    ],
    model: Annotated[
        str, typer.Argument(help="Sequence-to-sequence model: a Hugging Face name or a folder.", metavar="MODEL")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Output file, JSONL.")],
    method: Annotated[
        str, typer.Option(help="topk: sample from the k likeliest tokens; beam: the n best queries of a beam.")
    ] = "topk",
    k: Annotated[int | None, typer.Option(help="With topk: tokens to sample from. [default: 10]")] = None,
    n: Annotated[int, typer.Option("-n", help="Queries per passage.")] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the sampling.")] = 0,
    preset: Annotated[
        str,
        typer.Option(
            help="Text read per document: doct5query (windows of 10 sentences, one every 5, of the first 10,000 "
            "characters, each after the title) or whole."
        ),
    ] = "doct5query",
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", help="key=value: setting of the preset: title, max_characters, passages.preset, ..."),
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="Tokens read per passage. [default: the model's limit, or 512]")
    ] = None,
    max_query_tokens: Annotated[int, typer.Option(help="Maximum tokens of a query.")] = 64,
    batch: Annotated[int, typer.Option(help="Queries predicted at a time; increase it on a GPU.")] = 64,
    device: Annotated[str, typer.Option(help="Torch device; auto: an accelerator if there is one.")] = ("auto"),
    dtype: Annotated[str, typer.Option(help="float32 or bf16.")] = "float32",
    engine: Engine = None,
    workers: Workers = None,
    resources: Resources = None,
    format: Annotated[str | None, typer.Option(help="Document format, if the file name does not tell it.")] = None,
    fields: Annotated[
        str | None, typer.Option(help="Comma-separated fields to read; not for an index. [default: title,text]")
    ] = None,
    convert: Convert = False,
) -> None:
    """Predict queries for documents, to index with them.

    This is doc2query. Each output line has a document's id and the queries of all its passages. Give the file to
    longrank index --expansions; files of several models are united there. After an interruption, run the same command
    again: it resumes.

    Example: longrank expand my.index d2q/model -o d2q.jsonl -n 10

    longrank index docs.jsonl -o expanded.index --expansions d2q.jsonl
    """
    from longrank.cli.inputs import output_file
    from longrank.collections.documents import paths_of
    from longrank.formats.records import CorpusOptions
    from longrank.registries import names_in
    from longrank.types import Notes
    from longrank.verbs.convert import converted
    from longrank.verbs.expand import expand as predict

    output_file(output, *paths_of([source]), model)
    notes = Notes()
    names = names_in("title,text" if fields is None else fields)
    with console.progress("expanding", None, "documents") as advance:
        expansion = predict(
            source,
            converted(model, notes) if convert else model,
            output,
            method=method,
            n=n,
            k=k,
            seed=seed,
            preset=preset,
            assignments=assignments or (),
            max_tokens=max_tokens,
            max_query_tokens=max_query_tokens,
            batch=batch,
            device=device,
            dtype=dtype,
            engine=engine,
            workers=workers,
            resources=resources,
            corpus=None if format is None and fields is None else CorpusOptions(format, names),
            notes=notes,
            progress=advance,
        )
    console.show_notes(expansion.notes)
    console.note(f"{output}: {expansion.n_queries:,} queries for {expansion.n_documents:,} documents")
