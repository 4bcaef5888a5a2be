"""``longrank analyze``: what is asked about collections, rankings and systems rather than of them."""

from __future__ import annotations

from collections.abc import Callable

import typer

from longrank.cli.analyze_collection import collection
from longrank.cli.analyze_latency import latency
from longrank.cli.analyze_positions import positions
from longrank.cli.analyze_relevant_passages import relevant_passages
from longrank.cli.analyze_runs import agreement, deltas, judged
from longrank.cli.analyze_sweeps import depth, sentences

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
