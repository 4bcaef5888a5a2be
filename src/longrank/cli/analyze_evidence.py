"""``longrank analyze evidence``, ``positions``, ``sentences`` and ``depth``: analyse stored evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from longrank.aggregation import AGGREGATORS
from longrank.cli.analyze_output import Level, Output, check_output, deliver
from longrank.cli.options import (
    Complete,
    EvidenceFile,
    FirstStage,
    Interpolate,
    Measures,
    Normalize,
    Plot,
    Qrels,
    Weights,
)

Aggregators = Annotated[
    list[str] | None, typer.Option("-a", "--aggregator", help=f"Repeatable: {', '.join(AGGREGATORS)}. [default: maxp]")
]


def evidence(
    inputs: Annotated[
        list[str],
        typer.Argument(
            help="Evidence files, or JSONL files with query_id (or query), doc_id and passages, as longrank search "
            "--json prints them; then the collection with the gold.",
            metavar="EVIDENCE... GOLD",
        ),
    ],
    answers: Annotated[
        bool | None,
        typer.Option(
            "--answers/--spans",
            help="Gold: the answers of queries.jsonl, or the spans of passage_qrels.txt. [default: answers if any]",
        ),
    ] = None,
    k: Annotated[
        list[int] | None, typer.Option("-k", help="Repeatable; number of best passages. [default: 1, 3, 5]")
    ] = None,
    level: Level = 1,
    index: Annotated[Path | None, typer.Option(help="Index that evidence files must be of.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 42,
    output: Output = None,
    plot: Plot = None,
) -> None:
    """Measure how well passages show the answer.

    Hits of the best passages, rank of the first hit, characters to read until the answer, overlap with gold spans and
    coverage, with confidence intervals; hits by document length and by place of the answer.

    Example: longrank analyze evidence lexical.run.evidence minilm.run.evidence squad-dev-mixed -o evidence.json
    """
    from longrank.errors import InputError
    from longrank.verbs.analyze import analyze

    *sources, gold = inputs
    if not sources:
        raise InputError("there is no evidence: the last argument is the collection", got=gold)
    check_output(output, plot, *inputs, index)
    by = None if answers is None else "answers" if answers else "spans"
    deliver(analyze.evidence(sources, gold, by=by, k=k or (1, 3, 5), level=level, index=index, seed=seed), output, plot)


def positions(
    evidence: EvidenceFile,
    qrels: Annotated[str | None, typer.Option(help="Judgments; adds a row of relevant documents.")] = None,
    level: Annotated[
        int | None, typer.Option("-l", "--level", min=1, help="Lowest relevant grade of --qrels. [default: 1]")
    ] = None,
    top: Annotated[
        list[int] | None, typer.Option("-k", help="Repeatable; adds a row of each query's first K documents.")
    ] = None,
    run: Annotated[Path | None, typer.Option(help="Ranking for -k. [default: by the best passages]")] = None,
    output: Output = None,
    plot: Plot = None,
) -> None:
    """Show where in its document the best passage stands.

    By the passage's number, and by tenths of the document. If the first passage wins much more often than by chance,
    reading it alone may be enough.

    Example: longrank analyze positions maxp.run.evidence --qrels qrels.txt -k 10
    """
    from longrank.verbs.analyze import analyze

    check_output(output, plot, evidence, qrels, run)
    deliver(analyze.positions(evidence, qrels=qrels, level=level, top=top or (), run=run), output, plot)


def sentences(
    evidence: EvidenceFile,
    qrels: Qrels,
    counts: Annotated[
        str, typer.Option(help="Numbers of passages per document, separated by commas.")
    ] = "8,16,24,32,40,48,56,64",
    rule: Annotated[
        str, typer.Option(help="Passages to keep: first, termf (most words of the query), or first+termf.")
    ] = "first",
    aggregators: Aggregators = None,
    weights: Weights = None,
    measures: Measures = None,
    first_stage: FirstStage = None,
    interpolate: Interpolate = None,
    normalize: Normalize = "none",
    complete: Complete = True,
    output: Output = None,
    plot: Plot = None,
) -> None:
    """Measure effectiveness by the number of sentences, or passages, kept of each document.

    The evidence must hold all passages; nothing is scored again (Santos et al., figure 2).

    Example: longrank analyze sentences santos.run.evidence qrels.txt -a max -a sum -a wmean --first-stage bm25.run
    """
    from longrank.verbs.analyze import analyze

    check_output(output, plot, evidence, qrels, first_stage)
    setup = _setup(aggregators, weights, measures, interpolate, normalize, complete)
    kept = _integers("--counts", counts)
    deliver(analyze.sentences(evidence, qrels, kept, rule=rule, first_stage=first_stage, **setup), output, plot)


def depth(
    evidence: EvidenceFile,
    first_stage: Annotated[Path, typer.Argument(help="Run that was reranked.", metavar="RUN")],
    qrels: Qrels,
    depths: Annotated[
        str, typer.Option(help="Numbers of documents per query, separated by commas.")
    ] = "10,20,30,50,100",
    aggregators: Aggregators = None,
    weights: Weights = None,
    measures: Measures = None,
    interpolate: Interpolate = None,
    normalize: Normalize = "none",
    complete: Complete = True,
    output: Output = None,
    plot: Plot = None,
) -> None:
    """Measure effectiveness by the number of documents reranked.

    Depth 0 is the first stage; nothing is scored again (Santos et al., figure 3).

    Example: longrank analyze depth maxp.run.evidence bm25.run qrels.txt -a maxp -a sump -m nDCG@10 -m P@10
    """
    from longrank.verbs.analyze import analyze

    check_output(output, plot, evidence, qrels, first_stage)
    setup = _setup(aggregators, weights, measures, interpolate, normalize, complete)
    deliver(analyze.depth(evidence, first_stage, qrels, _integers("--depths", depths), **setup), output, plot)


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

    values = numbers(option, value)
    if any(not number.is_integer() or number < 1 for number in values):
        raise InputError(f"{option} takes whole numbers of at least 1", got=value)
    return sorted({int(number) for number in values})
