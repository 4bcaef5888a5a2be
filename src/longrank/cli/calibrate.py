"""``longrank calibrate``: learn a bound for early stopping."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.aggregation import AGGREGATORS
from longrank.cli import console

_AGGREGATORS = [name for name, kind in AGGREGATORS.items() if not (kind.example or kind.needs_document_score)]


def calibrate(
    cheap: Annotated[Path, typer.Argument(help="Evidence of the cheap scorer.", metavar="CHEAP")],
    expensive: Annotated[
        Path, typer.Argument(help="Evidence of the expensive scorer for the same candidates.", metavar="EXPENSIVE")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Output file, JSON.")],
    k: Annotated[int, typer.Option("-k", help="Size of the top-k that must be preserved.")] = 10,
    risk: Annotated[float, typer.Option(help="Allowed mean share of the true top-k that is missed.")] = 0.05,
    aggregator: Annotated[
        str, typer.Option("--aggregator", "-a", help=f"An aggregator: {', '.join(_AGGREGATORS)}.")
    ] = "maxp",
) -> None:
    """Learn which documents cannot enter the top-k.

    A pipeline with this calibration skips them. The missed share of the top-k is measured on held-out queries, printed
    and written to the file.

    Example: longrank calibrate minilm.run.evidence maxp.run.evidence -o stop.json, then
    longrank rerank ... --set stop.calibration=stop.json
    """
    from longrank.aggregation import make_aggregator
    from longrank.cli.inputs import output_file
    from longrank.ranking.calibration import calibrate as learn
    from longrank.ranking.calibration import write_calibration

    output_file(output, cheap, expensive)
    learned = learn(cheap, expensive, aggregator, make_aggregator(aggregator), k=k, risk=risk)
    write_calibration(learned, output)
    console.note(f"{output}: {learned.summary}")
