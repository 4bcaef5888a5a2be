"""``longrank analyze``: describe collections, evidence, runs and costs."""

from __future__ import annotations

from collections.abc import Callable

import typer

from longrank.cli.analyze_collection import collection, relevant_passages
from longrank.cli.analyze_evidence import depth, positions, sentences
from longrank.cli.analyze_latency import latency
from longrank.cli.analyze_runs import agreement, deltas, judged

analyze = typer.Typer(help="Analyse collections, evidence, runs, and costs.", rich_markup_mode=None)


@analyze.callback()
def _group() -> None:
    """Analyse collections, evidence, runs, and costs."""


_COMMANDS: dict[str, Callable[..., None]] = {
    "collection": collection,
    "relevant-passages": relevant_passages,
    "positions": positions,
    "sentences": sentences,
    "depth": depth,
    "deltas": deltas,
    "judged": judged,
    "agreement": agreement,
    "latency": latency,
}
for _name, _command in _COMMANDS.items():
    analyze.command(_name)(_command)
