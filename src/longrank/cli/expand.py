"""``longrank expand``: queries that a model predicts for documents (doc2query)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli import console


def expand(
    source: Annotated[
        str,
        typer.Argument(
            help="An index; or documents as index reads them, a collection folder, or irds:ID.", metavar="SOURCE"
        ),
    ],
    model: Annotated[
        str,
        typer.Argument(help="A sequence-to-sequence model: a Hugging Face name or a folder.", metavar="MODEL"),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the predictions go, JSONL.")],
    method: Annotated[
        str,
        typer.Option("--method", help="topk: tokens are drawn from the k likeliest; beam: the n best of a beam of n."),
    ] = "topk",
    k: Annotated[int | None, typer.Option("--k", help="With topk: tokens to draw from. [default: 10]")] = None,
    n: Annotated[int, typer.Option("-n", help="Queries of each passage.")] = 10,
    seed: Annotated[int, typer.Option("--seed", help="Of what is drawn.")] = 0,
    preset: Annotated[
        str,
        typer.Option(
            "--preset",
            help="What is read of a document: doct5query (windows of 10 sentences, one every 5, of the first 10,000 "
            "characters, the title before each) or whole.",
        ),
    ] = "doct5query",
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", help="key=value of the preset: title, max_characters, passages.preset, ..."),
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", help="Read of a passage; else what the model can read, or 512.")
    ] = None,
    max_query_tokens: Annotated[int, typer.Option("--max-query-tokens", help="Longest query.")] = 64,
    batch: Annotated[int, typer.Option("--batch", help="Queries written at a time; GPUs want more.")] = 64,
    device: Annotated[str, typer.Option("--device", help="A torch device; auto: an accelerator if there is one.")] = (
        "auto"
    ),
    dtype: Annotated[str, typer.Option("--dtype", help="float32 or bf16.")] = "float32",
    format: Annotated[
        str | None, typer.Option("--format", help="Format of the documents, if the file names do not tell.")
    ] = None,
    fields: Annotated[
        str | None,
        typer.Option(
            "--fields",
            help="Fields of the documents that are read, between commas; not of an index. [default: title,text]",
        ),
    ] = None,
) -> None:
    """Predict queries for documents, to index with them.

    This is doc2query. A line of the file has a document's id and the queries of all its passages. Give it to index
    --expansions; several files, of several models, are united there. Interrupted work resumes: run the same command
    again.

    Example: longrank expand my.index d2q/model -o d2q.jsonl -n 10

    longrank index docs.jsonl -o expanded.index --expansions d2q.jsonl
    """
    from longrank.cli.inputs import choice, output_file
    from longrank.errors import InputError
    from longrank.expansion.decoding import METHODS, Decoding
    from longrank.expansion.expand import expand as predict
    from longrank.expansion.expand import open_documents
    from longrank.expansion.predictor import QueryPredictor
    from longrank.expansion.reading import Reading
    from longrank.formats.corpora import CorpusOptions
    from longrank.networks.model_files import find_model
    from longrank.storage import MANIFEST
    from longrank.types import Notes

    notes = Notes()
    choice("--method", method, METHODS)
    if method == "beam" and k is not None:
        raise InputError("--k is for --method topk", got=k, fix="the beam is as wide as -n")
    for option, value in (("--fields", fields), ("--format", format)):
        if value is not None and (Path(source) / MANIFEST).is_file():
            raise InputError(f"{option} is of documents, not of an index", got=value, fix="give the documents instead")
    output_file(output, source, model)
    decoding = Decoding(method, n, 10 if k is None else k, seed, max_query_tokens)
    predictor = QueryPredictor(
        find_model(model), decoding, max_tokens=max_tokens, batch=batch, device=device, dtype=dtype, notes=notes
    )
    reading = Reading(preset, assignments or (), predictor.offset_tokenizer)
    names = tuple(name.strip() for name in ("title,text" if fields is None else fields).split(","))
    collection = open_documents([source], CorpusOptions(format, names), notes)
    with console.progress("expanding", collection.n_documents, "documents") as advance:
        n_queries = predict(collection, predictor, reading, output, notes=notes, progress=advance)
    console.show_notes(notes)
    console.note(f"{output}: {n_queries:,} queries for {collection.n_documents:,} documents")
