"""``longrank analyze positions``: where in its document the best passage stands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli.analyze_output import Evidence, Output, check_output, deliver


def positions(
    evidence: Evidence,
    qrels: Annotated[
        str | None, typer.Option("--qrels", help="Judgments: look at relevant documents by themselves.")
    ] = None,
    level: Annotated[
        int | None, typer.Option("-l", "--level", min=1, help="Lowest relevant grade in --qrels. [default: 1]")
    ] = None,
    top: Annotated[
        list[int] | None, typer.Option("-k", help="Repeatable: look at each query's first K documents by themselves.")
    ] = None,
    run: Annotated[
        Path | None, typer.Option("--run", help="The ranking of -k. [default: by the best passages]")
    ] = None,
    output: Output = None,
) -> None:
    """Show where in its document the best passage stands.

    By the passage's number, and by tenths of the document. If the first passage wins much more often than by chance,
    it may be enough to read it.

    Example: longrank analyze positions maxp.run.evidence --qrels qrels.txt -k 10
    """
    from longrank.verbs.analyze import analyze

    check_output(output, evidence, qrels, run)
    deliver(analyze.positions(evidence, qrels=qrels, level=level, top=top or (), run=run), output)
