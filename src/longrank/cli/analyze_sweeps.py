"""``longrank analyze sentences`` and ``depth``: effectiveness by how much is read, from stored evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from longrank.aggregation import AGGREGATORS
from longrank.cli.analyze_output import Evidence, Measures, Output, Qrels, check_output, deliver

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
    from longrank.verbs.analyze import analyze

    check_output(output, evidence, qrels, first_stage)
    setup = _setup(aggregators, weights, measures, interpolate, normalize, complete)
    kept = _integers("--counts", counts)
    deliver(analyze.sentences(evidence, qrels, kept, rule=rule, first_stage=first_stage, **setup), output)


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
    from longrank.verbs.analyze import analyze

    check_output(output, evidence, qrels, first_stage)
    setup = _setup(aggregators, weights, measures, interpolate, normalize, complete)
    deliver(analyze.depth(evidence, first_stage, qrels, _integers("--depths", depths), **setup), output)


def _setup(
    aggregators: list[str] | None,
    weights: str | None,
    measures: list[str] | None,
    interpolate: float | None,
    normalize: str,
    complete: bool,
) -> dict[str, Any]:
    from longrank.cli.inputs import numbers

    return {
        "aggregators": aggregators or ["maxp"],
        "weights": None if weights is None else numbers("--weights", weights),
        "measures": measures or ["nDCG@10"],
        "interpolate": interpolate,
        "normalize": normalize,
        "intersection": not complete,
    }


def _integers(option: str, value: str) -> list[int]:
    from longrank.cli.inputs import numbers
    from longrank.errors import InputError

    found = numbers(option, value)
    if any(not one.is_integer() or one < 1 for one in found):
        raise InputError(f"{option} takes whole numbers from 1 on", got=value)
    return sorted({int(one) for one in found})
