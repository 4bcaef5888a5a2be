"""``longrank aggregate``: rank documents by stored evidence, without a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from longrank.aggregation import AGGREGATORS, make_aggregator
from longrank.cli import console
from longrank.cli.completion import aggregators
from longrank.cli.options import EvidenceFile, FirstStage, Interpolate, MixMethod, Normalize, Tag, Weights


def aggregate(
    ctx: typer.Context,
    evidence: EvidenceFile,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Output file, a TREC run.")] = None,
    aggregator: Annotated[
        str | None,
        typer.Option("--aggregator", "-a", help=f"Aggregator: {', '.join(AGGREGATORS)}.", autocompletion=aggregators),
    ] = None,
    weights: Weights = None,
    k: Annotated[int | None, typer.Option("-k", help="kmaxp: passages to average. [default: 3]")] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="key=value: an option of the aggregator. Repeatable.")
    ] = None,
    interpolate: Interpolate = None,
    normalize: Normalize = "none",
    mix: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=WEIGHT",
            help="Weight of another scorer in a mix, such as lexical=0.3; the main scorer has the rest. Repeatable. "
            "[default: the passage scores as written]",
        ),
    ] = None,
    mix_method: MixMethod = None,
    first_stage: FirstStage = None,
    tail: Annotated[str, typer.Option(help="Documents of the first stage without evidence: keep or drop.")] = "keep",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the evidence, one JSON object per document; write no run.")
    ] = False,
    tag: Tag = "longrank",
) -> None:
    """Turn passage evidence into a ranking, in seconds.

    With --first-stage RUN the result is the run that rerank writes with the same settings.

    Example: longrank aggregate maxp.run.evidence -o birch.run --aggregator birch --weights 1,0.1,0.1
    --interpolate 0.4 --first-stage bm25.run
    """
    from longrank.cli.inputs import given_options, named_numbers, numbers, run_file
    from longrank.config import override
    from longrank.errors import InputError
    from longrank.formats.evidence import evidence_json, read_evidence
    from longrank.formats.trec import write_run
    from longrank.verbs.aggregate import aggregate as aggregate_evidence

    if as_json:
        if others := given_options(ctx) - {"evidence", "as_json"}:
            first = next(option for option in ctx.command.params if option.name in others)
            what = f"--json prints the evidence as it is written, without {first.opts[0]}"
            raise InputError(what, fix="leave out one of them")
        for record in read_evidence(evidence)[1]:
            typer.echo(json.dumps(evidence_json(record), ensure_ascii=False))
        return
    if output is None or aggregator is None:
        lacking = [name for name, value in (("-o RUN", output), ("--aggregator NAME", aggregator)) if value is None]
        fix = "give both, or print the evidence with --json"
        raise InputError(f"missing: {' and '.join(lacking)}", fix=fix)
    options = override({}, (text.removeprefix("aggregate.") for text in assignments or ()))
    own: dict[str, object] = {} if k is None else {"k": k}
    own |= {} if weights is None else {"weights": numbers("--weights", weights)}
    if twice := options.keys() & {"name", *own}:  # the name is --aggregator
        name = min(twice)
        raise InputError(f"{name} is given twice", got=f"--set {name}={options[name]}", fix="remove it from --set")
    options |= own
    make_aggregator(aggregator, **options)  # refuses foreign options
    run_file(output, evidence, first_stage)
    run = aggregate_evidence(
        evidence,
        aggregator,
        interpolate=interpolate,
        normalize=normalize,
        mix=None if mix is None else named_numbers("--mix", mix),
        mix_method=mix_method,
        first_stage=first_stage,
        tail=tail,
        tag=tag,
        **options,
    )
    write_run(run, output)
    console.show_notes(run.notes)
    console.note(f"{output}: {len(run)} queries")
