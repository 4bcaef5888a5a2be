"""``longrank analyze sentences`` and ``depth``: effectiveness by how much is read, from stored evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longrank.aggregation import AGGREGATORS
from longrank.cli import console
from longrank.cli.analyze_output import Evidence, Measures, Output, Qrels, check_output, show, write

if TYPE_CHECKING:
    from longrank.analysis.sweeps import Point, Setup
    from longrank.evaluation.measures import Queries
    from longrank.types import Evidence as OfDocument
    from longrank.types import Notes, Run

Aggregators = Annotated[
    list[str] | None,
    typer.Option("-a", "--aggregator", help=f"Repeatable; of {', '.join(AGGREGATORS)}. [default: maxp]"),
]
Weights = Annotated[
    str | None, typer.Option("--weights", help="1,W2,W3: what birch's best sentences weigh.", metavar="1,W2,W3")
]
Alpha = Annotated[
    float | None,
    typer.Option("--interpolate", help="ALPHA * first stage + (1 - ALPHA) * passages; 0 to 1.", metavar="ALPHA"),
]
Normalize = Annotated[str, typer.Option("--normalize", help="Before interpolating: none, or minmax per query.")]
Complete = Annotated[
    bool,
    typer.Option("--complete/--intersection", help="Average over all topics of the qrels, or over those of the run."),
]


def sentences(
    evidence: Evidence,
    qrels: Qrels,
    counts: Annotated[
        str, typer.Option("--counts", help="Passages of a document, between commas.")
    ] = "8,16,24,32,40,48,56,64",
    rule: Annotated[
        str, typer.Option("--rule", help="Which are kept: first, termf (most words of the query), first+termf.")
    ] = "first",
    aggregators: Aggregators = None,
    weights: Weights = None,
    measures: Measures = None,
    first_stage: Annotated[
        Path | None, typer.Option("--first-stage", help="The run that was reranked: its other documents follow below.")
    ] = None,
    interpolate: Alpha = None,
    normalize: Normalize = "none",
    complete: Complete = True,
    output: Output = None,
) -> None:
    """Measure by the number of sentences, or passages, kept of each document.

    From evidence of as many as there are; nothing is scored again (Santos et al., figure 2).

    Example: longrank analyze sentences santos.run.evidence qrels.txt -a max -a sum -a wmean --first-stage bm25.run
    """
    from longrank.analysis.sweeps import by_passages
    from longrank.formats.trec import read_run
    from longrank.types import Notes

    notes = Notes()
    check_output(output, evidence, qrels, first_stage)
    wanted = _integers("--counts", counts)
    stage = None if first_stage is None else read_run(first_stage, notes)
    setup = _setup(qrels, aggregators, weights, measures, stage, (interpolate, normalize, complete), notes)
    setup, records = _opened(evidence, setup, notes)
    points = by_passages(records, setup, wanted, rule=rule, notes=notes)
    _deliver(points, "passages", output, {"evidence": str(evidence), "qrels": qrels, "rule": rule})
    console.show_notes(notes)


def depth(
    evidence: Evidence,
    first_stage: Annotated[Path, typer.Argument(help="The run that was reranked.", metavar="RUN")],
    qrels: Qrels,
    depths: Annotated[str, typer.Option("--depths", help="Documents of a query, between commas.")] = "10,20,30,50,100",
    aggregators: Aggregators = None,
    weights: Weights = None,
    measures: Measures = None,
    interpolate: Alpha = None,
    normalize: Normalize = "none",
    complete: Complete = True,
    output: Output = None,
) -> None:
    """Measure by how many documents of each query are reranked.

    From evidence of the most; nothing is scored again. 0 is the first stage itself (Santos et al., figure 3).

    Example: longrank analyze depth maxp.run.evidence bm25.run qrels.txt -a maxp -a sump -m nDCG@10 -m P@10
    """
    from longrank.analysis.sweeps import by_depth
    from longrank.formats.trec import read_run
    from longrank.types import Notes

    notes = Notes()
    check_output(output, evidence, qrels, first_stage)
    wanted = _integers("--depths", depths)
    run = read_run(first_stage, notes)
    setup = _setup(qrels, aggregators, weights, measures, run, (interpolate, normalize, complete), notes)
    setup, records = _opened(evidence, setup, notes)
    points = by_depth(records, run, setup, wanted, notes=notes)
    _deliver(points, "depth", output, {"evidence": str(evidence), "first_stage": str(first_stage), "qrels": qrels})
    console.show_notes(notes)


def _integers(option: str, value: str) -> list[int]:
    from longrank.cli.inputs import numbers
    from longrank.errors import InputError

    found = numbers(option, value)
    if any(not one.is_integer() or one < 1 for one in found):
        raise InputError(f"{option} takes whole numbers from 1 on", got=value)
    return sorted({int(one) for one in found})


def _setup(
    qrels: str,
    aggregators: list[str] | None,
    weights: str | None,
    measures: list[str] | None,
    first_stage: Run | None,
    how: tuple[float | None, str, bool],
    notes: Notes,
) -> Setup:
    from longrank.aggregation import make_aggregator
    from longrank.analysis.sweeps import Setup
    from longrank.cli.inputs import numbers
    from longrank.collections import read_qrels
    from longrank.errors import InputError

    names = list(dict.fromkeys(aggregators or ["maxp"]))
    alpha, normalize, complete = how
    if normalize != "none" and alpha is None:
        raise InputError("--normalize means nothing without --interpolate", got=normalize)
    if weights is not None and "birch" not in names:
        raise InputError("--weights belongs to the aggregator birch", got=weights)
    of_birch = None if weights is None else numbers("--weights", weights)
    queries: Queries = "complete" if complete else "intersection"
    return Setup(
        {name: make_aggregator(name, weights=of_birch if name == "birch" else None) for name in names},
        read_qrels(qrels, notes),
        tuple(measures or ["nDCG@10"]),
        first_stage,
        alpha,
        normalize,
        queries,
    )


def _opened(path: Path, setup: Setup, notes: Notes) -> tuple[Setup, Iterator[OfDocument]]:
    """Return the setup with what an evidence file says of missing documents, and its evidence.

    Documents that the first stage scores otherwise than the run that was reranked are counted.

    Raises:
        InputError: not an evidence file, or one of early stopping.
    """
    from longrank.aggregation.reranked import comparing_first_stage
    from longrank.formats.evidence import check_complete, read_evidence

    header, records = read_evidence(path)
    check_complete(header, path)
    if setup.first_stage is not None:
        records = comparing_first_stage(records, setup.first_stage, notes)
    return replace(setup, last=frozenset(header.get("missing", ()))), records


def _deliver(points: Sequence[Point], what: str, output: Path | None, record: dict[str, Any]) -> None:
    from longrank.analysis.plots import plot_lines

    names = list(dict.fromkeys(point.aggregator for point in points))
    measures = list(points[0].values)
    by_n: dict[int | None, dict[str, Point]] = {}
    for point in points:
        by_n.setdefault(point.n, {})[point.aggregator] = point
    head = (what, *(f"{name} {measure}" for measure in measures for name in names))
    rows = [
        (
            "all" if n is None else str(n),
            *(f"{found[name].values[measure]:.4f}" for measure in measures for name in names),
        )
        for n, found in by_n.items()
    ]
    show(head, rows)
    lines = {
        measure: {
            name: {n: found[name].values[measure] for n, found in by_n.items() if n is not None} for name in names
        }
        for measure in measures
    }
    write(output, {**record, "points": [point._asdict() for point in points]}, lambda p: plot_lines(p, lines, what))
