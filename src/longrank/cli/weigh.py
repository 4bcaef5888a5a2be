"""``longrank weigh``: learn the weights of the first stage and of the best passages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli import console
from longrank.cli.options import (
    ChooseBy,
    Engine,
    Folds,
    MakeFolds,
    Measure,
    MixMethod,
    Normalize,
    Qrels,
    Resources,
    TuningFormat,
    Workers,
)


def weigh(
    qrels: Qrels,
    run: Annotated[Path, typer.Argument(help="First stage: the run that was reranked.", metavar="RUN")],
    reranked: Annotated[
        list[Path],
        typer.Argument(help="Evidence files or reranked runs, each of some of the queries.", metavar="EVIDENCE"),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Result folder.", metavar="FOLDER")],
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AXIS",
            help="Repeatable; the values of a weight, as NAME=FIRST:LAST:STEP or NAME=VALUE,VALUE,... NAME is alpha "
            "(first stage), w2, w3, ... (second best, third best passage) or a mixed scorer of the evidence, such as "
            "lexical. [default: alpha=0:1:0.1]",
        ),
    ] = None,
    aggregator: Annotated[
        str | None, typer.Option("--aggregator", "-a", help="Without w2: aggregator of the passages. [default: maxp]")
    ] = None,
    normalize: Normalize = "none",
    mix_method: MixMethod = None,
    depth: Annotated[
        int | None, typer.Option(help="Documents of each query that the runs reranked. [default: all of the run]")
    ] = None,
    measure: Measure = "AP",
    folds: Folds = None,
    n_folds: MakeFolds = None,
    rule: ChooseBy = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the folds that are made. [default: 42]")] = None,
    learn_on: Annotated[
        list[str] | None,
        typer.Option(
            help="Another judged set to learn the weights on. Repeat the option for each file if a name holds a comma.",
            metavar="QRELS,RUN,EVIDENCE,...",
        ),
    ] = None,
    engine: Engine = None,
    workers: Workers = None,
    resources: Resources = None,
    format: TuningFormat = "table",
) -> None:
    """Learn the weights of first stage and passages.

    By folds, or on another judged set. A document's score is alpha * first stage + (1 - alpha) * (best passage +
    w2 * second best + ...). Writes weights.json and the weighted run, run.txt, to FOLDER. Without folds or another
    set, the best weights for these queries are reported on them, which is no test.

    Example: longrank weigh qrels.txt bm25.run maxp.run.evidence -o birch --make-folds 5 --grid alpha=0:1:0.1
    --grid w2=0:1:0.1 --grid w3=0:1:0.1
    """
    from longrank.cli.inputs import choice, folds_or_number, paths
    from longrank.cli.tune import show_tuning
    from longrank.evaluation.tuning.report import RENDERERS
    from longrank.verbs.weigh import weigh as weigh_evidence

    choice("--format", format, ["json", *RENDERERS])
    others = paths(learn_on)
    with console.progress("weighing", None, "queries") as advance:
        tuning = weigh_evidence(
            qrels,
            run,
            reranked,
            grid or ["alpha=0:1:0.1"],
            aggregator=aggregator,
            normalize=normalize,
            mix_method=mix_method,
            depth=depth,
            measure=measure,
            folds=folds_or_number(folds, n_folds),
            choose_by=rule,
            seed=seed,
            learn_on=others,
            folder=output,
            engine=engine,
            workers=workers,
            resources=resources,
            progress=advance,
        )
    show_tuning(tuning, format)
