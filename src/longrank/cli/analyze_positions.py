"""``longrank analyze positions``: where in its document the best passage stands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longrank.cli import console
from longrank.cli.analyze_output import Evidence, Output, check_output, share, show, write

if TYPE_CHECKING:
    from longrank.analysis.positions import Positions


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
    from longrank.analysis import positions as places
    from longrank.analysis.plots import plot_tenths
    from longrank.collections import read_qrels
    from longrank.errors import InputError
    from longrank.formats.evidence import read_evidence
    from longrank.formats.trec import read_run
    from longrank.types import Notes

    notes = Notes()
    check_output(output, evidence, qrels, run)
    if any(k < 1 for k in top or ()):
        raise InputError("-k is at least 1", got=min(top or ()))
    if run is not None and not top:
        raise InputError("--run is the ranking of -k", fix="add -k 10, or leave --run out")
    if level is not None and qrels is None:
        raise InputError("--level is of --qrels", got=level, fix="give --qrels")
    level = 1 if level is None else level
    found = places.winners(read_evidence(evidence)[1])
    groups = {"all reranked": found}
    if qrels is not None:
        groups["relevant"] = places.relevant(found, read_qrels(qrels, notes), level)
    ranking = None if run is None else read_run(run, notes)
    groups |= {f"first {k}": places.top(found, k, ranking) for k in top or ()}
    results = {name: places.positions(group) for name, group in groups.items()}
    _print_positions(results)
    tenths = {name: one.tenths for name, one in results.items() if one.tenths}
    record = {"evidence": str(evidence), "qrels": qrels, "level": level, "groups": results}
    write(output, record, lambda path: plot_tenths(path, tenths))
    console.show_notes(notes)


def _print_positions(results: dict[str, Positions]) -> None:
    from longrank.analysis.positions import TENTHS

    head = ("", "documents", "of one passage", "first wins", "by chance", "mean number", "median", "mean place")
    rows = []
    for name, one in results.items():
        index = ("-", "-") if one.index is None else (f"{one.index.mean:.1f}", f"{one.index.percentiles[50]:g}")
        counted = (f"{one.documents:,}", f"{one.single:,}", share(one.first), share(one.by_chance))
        rows.append((name, *counted, *index, share(one.mean_place)))
    show(head, rows)
    typer.echo("\nshare of the best passages that stands in each tenth of their documents")
    lines = [(name, *map(share, one.tenths or (None,) * TENTHS)) for name, one in results.items()]
    show(("", *map(str, range(1, TENTHS + 1))), lines)
