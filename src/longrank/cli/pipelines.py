"""``longrank pipelines``: the pipelines that come with LongRank."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer


def pipelines(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per pipeline.")] = False,
) -> None:
    """List the shipped pipelines.

    A pipeline says which passages are scored, by which scorer, and how their scores become a document's score.

    Example: longrank pipelines
    """
    from rich.console import Console
    from rich.table import Table

    from longrank.ranking.settings import overview

    rows = overview()
    if as_json:
        for row in rows:
            typer.echo(json.dumps(row._asdict()))
        return
    table = Table("pipeline", "what it does", "scorer", "aggregation", "model", box=None, pad_edge=False)
    for row in rows:
        model = "--model needed" if row.needs_model else row.model or "-"
        table.add_row(row.name, row.about, row.scorer or "-", row.aggregator or "-", model)
    Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 1000).print(table)
