"""``longrank weigh``: what the first stage and the best passages weigh, learned from judgments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli import console


def weigh(
    qrels: Annotated[
        str, typer.Argument(help="Judgments: a TREC qrels file, a collection folder, or irds:ID.", metavar="QRELS")
    ],
    run: Annotated[Path, typer.Argument(help="The first stage: the run that was reranked.", metavar="RUN")],
    reranked: Annotated[
        list[Path],
        typer.Argument(
            help="What rerank made of it: evidence files, or runs, each of some of the queries.", metavar="EVIDENCE"
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the result.", metavar="FOLDER")],
    grid: Annotated[
        list[str] | None,
        typer.Option(
            "--grid",
            metavar="AXIS",
            help="Repeatable: the values of a weight, as NAME=FIRST:LAST:STEP or NAME=VALUE,VALUE,... NAME is alpha "
            "(of the first stage), or w2, w3, ... (of the second best, third best passage). [default: alpha=0:1:0.1]",
        ),
    ] = None,
    aggregator: Annotated[
        str | None,
        typer.Option("--aggregator", "-a", help="Without w2: how passages become a score. [default: maxp]"),
    ] = None,
    normalize: Annotated[
        str, typer.Option("--normalize", help="Before interpolating: none, or minmax per query.")
    ] = "none",
    depth: Annotated[
        int | None,
        typer.Option("--depth", help="Of runs: how many documents were reranked, if others follow below them."),
    ] = None,
    measure: Annotated[
        str, typer.Option("-m", "--measure", help="What is maximised: a name of ir_measures or trec_eval.")
    ] = "AP",
    folds: Annotated[
        Path | None, typer.Option("--folds", help="For each fold of this file, learn on its other queries.")
    ] = None,
    n_folds: Annotated[
        int | None, typer.Option("--make-folds", help="Make this many folds at random; written to FOLDER/folds.json.")
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(
            "--choose-by", help="With folds: rest, dev, yang19 or birch, as of longrank tune. [default: rest]"
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Of made folds. [default: 42]")] = None,
    learn_on: Annotated[
        str | None,
        typer.Option(
            "--learn-on", help="Learn on another judged set, and keep the weights.", metavar="QRELS,RUN,EVIDENCE,..."
        ),
    ] = None,
    format: Annotated[
        str, typer.Option("--format", help="Of what is printed: table, json, csv or markdown.")
    ] = "table",
) -> None:
    """Learn what first stage and passages weigh.

    By folds, or on another judged set. A document's score is alpha * first stage + (1 - alpha) * (best passage +
    w2 * second best + ...). Writes weights.json and the run that they give, run.txt, to FOLDER. Without folds or
    another set, the weights that are best for these queries are reported on them, which is no test.

    Example: longrank weigh qrels.txt bm25.run maxp.run.evidence -o birch --make-folds 5 --grid alpha=0:1:0.1
    --grid w2=0:1:0.1 --grid w3=0:1:0.1
    """
    from longrank.cli.inputs import apart, choice, folds_or_number
    from longrank.cli.tune import show_tuning
    from longrank.evaluation.tuning.folder import RUN
    from longrank.evaluation.tuning.report import RENDERERS
    from longrank.verbs.weigh import WEIGHTS
    from longrank.verbs.weigh import weigh as weigh_evidence

    choice("--format", format, ["json", *RENDERERS])
    for name in (RUN, WEIGHTS):
        apart(output / name, run, *reranked, *(learn_on or "").split(","))
    with console.progress("weighing", None, "queries") as advance:
        tuning = weigh_evidence(
            qrels,
            run,
            reranked,
            grid or ["alpha=0:1:0.1"],
            aggregator=aggregator,
            normalize=normalize,
            depth=depth,
            measure=measure,
            folds=folds_or_number(folds, n_folds),
            choose_by=rule,
            seed=seed,
            learn_on=None if learn_on is None else learn_on.split(","),
            folder=output,
            progress=advance,
        )
    show_tuning(tuning, format)
