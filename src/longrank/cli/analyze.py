"""``longrank analyze``: describe collections, evidence, runs and costs."""

from __future__ import annotations

from collections.abc import Callable

import typer

from longrank.cli.analyze_collection import collection, relevant_passages
from longrank.cli.analyze_evidence import depth, evidence, positions, sentences
from longrank.cli.analyze_latency import latency
from longrank.cli.analyze_runs import agreement, deltas, judged

analyze = typer.Typer(help="Analyse collections, evidence, runs, and costs.", rich_markup_mode=None)

_COMMANDS: tuple[Callable[..., None], ...] = (
    collection,
    relevant_passages,
    evidence,
    positions,
    sentences,
    depth,
    deltas,
    judged,
    agreement,
    latency,
)
for _command in _COMMANDS:
    analyze.command(_command.__name__.replace("_", "-"))(_command)
