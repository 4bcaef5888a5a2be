"""``longrank aggregate``: from stored evidence to a run, without reading a document again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from longrank.aggregation import AGGREGATORS
from longrank.cli import console


def aggregate(
    evidence: Annotated[Path, typer.Argument(help="An evidence file written by longrank rerank.", metavar="EVIDENCE")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Where the run goes.")] = None,
    aggregator: Annotated[
        str | None,
        typer.Option("--aggregator", "-a", help=f"One of {', '.join(AGGREGATORS)}."),
    ] = None,
    weights: Annotated[
        str | None, typer.Option("--weights", help="1,W2,W3: what birch's best sentences weigh.", metavar="1,W2,W3")
    ] = None,
    k: Annotated[int | None, typer.Option("-k", help="How many passages kmaxp averages. [default: 3]")] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="key=value, any option of the aggregator; may be repeated.")
    ] = None,
    interpolate: Annotated[
        float | None,
        typer.Option("--interpolate", help="ALPHA * first stage + (1 - ALPHA) * passages; 0 to 1.", metavar="ALPHA"),
    ] = None,
    normalize: Annotated[
        str, typer.Option("--normalize", help="Before interpolating: none, or minmax per query.")
    ] = "none",
    first_stage: Annotated[
        Path | None,
        typer.Option("--first-stage", help="The run that was reranked: its other documents follow below."),
    ] = None,
    tail: Annotated[
        str, typer.Option("--tail", help="keep or drop the documents of the first stage without evidence.")
    ] = "keep",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the evidence, one JSON object per document, and write no run.")
    ] = False,
    tag: Annotated[str, typer.Option("--tag", help="The run's tag.")] = "longrank",
) -> None:
    """Turn passage evidence into a ranking, in seconds.

    With --first-stage RUN the result is the run that rerank writes with the same settings.

    Example: longrank aggregate maxp.run.evidence -o birch.run --aggregator birch --weights 1,0.1,0.1
    --interpolate 0.4 --first-stage bm25.run
    """
    from longrank.aggregation import make_aggregator
    from longrank.cli.inputs import numbers, output_file
    from longrank.config import override
    from longrank.errors import InputError
    from longrank.formats.evidence import evidence_json, read_evidence
    from longrank.formats.trec import write_run
    from longrank.verbs.aggregate import aggregate as aggregate_evidence

    if as_json:
        for record in read_evidence(evidence)[1]:
            typer.echo(json.dumps(evidence_json(record), ensure_ascii=False))
        return
    if output is None or aggregator is None:
        raise InputError("a run needs -o RUN and --aggregator NAME", fix="or print the evidence with --json")
    options = override({}, (text.removeprefix("aggregate.") for text in assignments or ()))
    options |= {} if k is None else {"k": k}
    options |= {} if weights is None else {"weights": numbers("--weights", weights)}
    make_aggregator(aggregator, **options)
    output_file(output, evidence, first_stage)
    run = aggregate_evidence(
        evidence,
        aggregator,
        interpolate=interpolate,
        normalize=normalize,
        first_stage=first_stage,
        tail=tail,
        tag=tag,
        **options,
    )
    write_run(run, output)
    console.show_notes(run.notes)
    console.note(f"{output}: {len(run)} queries")
