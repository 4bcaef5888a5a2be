"""``longrank quantize``: quantise a model to int8, calibrated on your text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli import console
from longrank.cli.options import Field, ModelName, QueriesSource, QueryFormat


def quantize(
    model: ModelName,
    index: Annotated[Path, typer.Argument(help="Index with the passages to calibrate on.", metavar="INDEX")],
    queries: QueriesSource,
    output: Annotated[Path, typer.Option("-o", "--output", help="Output folder, the new model.")],
    scorer: Annotated[
        str, typer.Option(help="Scorer that will use the model: cross-encoder or bi-encoder.")
    ] = "cross-encoder",
    pairs: Annotated[int, typer.Option(help="Number of (query, passage) pairs to calibrate on.")] = 300,
    seed: Annotated[int, typer.Option(help="Seed of the random choice of pairs.")] = 0,
    passages: Annotated[str, typer.Option(help="Segmentation preset.")] = "windows",
    query_format: QueryFormat = None,
    field: Field = None,
) -> None:
    """Make an int8 copy of a model.

    Number ranges are calibrated on passages that BM25 finds for the queries. Take another collection than the one to be
    ranked. Scores change: compare the rankings before you rely on them.

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
    query_list = read_queries(queries, notes, format=query_format, field=field)
    quantize_model(
        model, scorer, Index.open(index), query_list, output, pairs=pairs, seed=seed, passages=passages, notes=notes
    )
    console.show_notes(notes)
    console.note(f"{output}: use it with scorer.options.backend=openvino and scorer.options.dtype=int8")
