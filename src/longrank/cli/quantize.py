"""``longrank quantize``: a model in int8, calibrated on text of the user's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli import console


def quantize(
    model: Annotated[str, typer.Argument(help="A Hugging Face name, a folder, or an alias.", metavar="MODEL")],
    index: Annotated[Path, typer.Argument(help="The index whose passages are read to calibrate.", metavar="INDEX")],
    queries: Annotated[
        str,
        typer.Argument(help="Queries: JSONL, TSV, TREC topics, a collection folder, or irds:ID.", metavar="QUERIES"),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The new model's folder.")],
    scorer: Annotated[
        str, typer.Option("--scorer", help="The scorer that will read with it: cross-encoder or bi-encoder.")
    ] = "cross-encoder",
    pairs: Annotated[int, typer.Option("--pairs", help="Pairs of query and passage to calibrate on.")] = 300,
    seed: Annotated[int, typer.Option("--seed", help="Of the choice of pairs.")] = 0,
    passages: Annotated[str, typer.Option("--passages", help="How documents are split.")] = "windows",
    query_format: Annotated[str | None, typer.Option("--query-format", help="If it cannot be guessed.")] = None,
    field: Annotated[str | None, typer.Option("--field", help="Topic field to use: title, description, ...")] = None,
) -> None:
    """Make a copy of a model that can be computed in int8.

    Its number ranges are chosen on passages that BM25 finds for the queries: take another collection than the one to
    be ranked. Scores change; compare rankings before relying on it.

    Example: longrank quantize ./monobert other.index other.jsonl -o ./monobert-int8, then
    longrank rerank ... --model ./monobert-int8 --set scorer.options.backend=openvino --set scorer.options.dtype=int8
    """
    from longrank.cli.inputs import choice
    from longrank.collections import read_queries
    from longrank.index import Index
    from longrank.ranking.quantization import SCORERS, quantize_model
    from longrank.types import Notes

    notes = Notes()
    choice("--scorer", scorer, list(SCORERS))
    wanted = read_queries(queries, notes, format=query_format, field=field)
    quantize_model(
        model, scorer, Index.open(index), wanted, output, pairs=pairs, seed=seed, passages=passages, notes=notes
    )
    console.show_notes(notes)
    console.note(f"{output}: use it with scorer.options.backend=openvino and scorer.options.dtype=int8")
