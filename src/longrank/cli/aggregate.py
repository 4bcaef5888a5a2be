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
    from longrank.errors import InputError
    from longrank.formats.evidence import check_complete, evidence_json, read_evidence
    from longrank.types import Notes

    header, records = read_evidence(evidence)
    if as_json:
        for one in records:
            typer.echo(json.dumps(evidence_json(one), ensure_ascii=False))
        return
    if output is None or aggregator is None:
        raise InputError("a run needs -o RUN and --aggregator NAME", fix="or print the evidence with --json")
    if normalize != "none" and interpolate is None:
        raise InputError("--normalize means nothing without --interpolate", got=normalize)
    check_complete(header, evidence, aggregator if interpolate is None else None)

    from longrank.aggregation import make_aggregator
    from longrank.aggregation.reranked import comparing_first_stage
    from longrank.aggregation.run import aggregate_run
    from longrank.aggregation.unread import counting_unread
    from longrank.cli.inputs import numbers, output_file
    from longrank.config import override
    from longrank.formats.trec import read_run, write_run

    notes = Notes()
    options = override({}, (one.removeprefix("aggregate.") for one in assignments or ()))
    options |= {} if k is None else {"k": k}
    options |= {} if weights is None else {"weights": numbers("--weights", weights)}
    output_file(output, evidence, first_stage)
    stage = None if first_stage is None else read_run(first_stage, notes)
    run = aggregate_run(
        counting_unread(records if stage is None else comparing_first_stage(records, stage, notes), notes),
        make_aggregator(aggregator, **options),
        first_stage=stage,
        alpha=interpolate,
        normalize=normalize,
        tail=tail,
        tag=tag,
        last=frozenset(header.get("missing", ())),
    )
    write_run(run, output)
    console.show_notes(notes)
    console.note(f"{output}: {len(run)} queries")
