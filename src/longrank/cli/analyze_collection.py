"""``longrank analyze collection``: what a collection is like."""

from __future__ import annotations

from typing import Annotated

import typer

from longrank.cli import console
from longrank.cli.analyze_output import Level, Output, check_output, deliver


def collection(
    source: Annotated[str, typer.Argument(help="An index, a collection folder, or irds:ID.", metavar="SOURCE")],
    queries: Annotated[
        str | None,
        typer.Argument(help="Queries. [default: those of a collection folder or irds:ID]", metavar="QUERIES"),
    ] = None,
    qrels: Annotated[str | None, typer.Argument(help="Judgments. [default: as for queries]", metavar="QRELS")] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Count this model's wordpieces, too: minilm, a name, a folder.")
    ] = None,
    level: Level = 1,
    field: Annotated[str | None, typer.Option("--field", help="Topic field to use: title, description, ...")] = None,
    show_text: Annotated[
        bool, typer.Option("--show-text", help="Show 300 characters of each example, and its query.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", help="Of the examples.")] = 42,
    output: Output = None,
) -> None:
    """Count documents, queries, their lengths and judgments.

    Lengths are of title and text: words between blanks, terms as an index counts them (without stop words), and with
    --model wordpieces. Judged documents that are missing are named, and one judged document of each grade.

    Example: longrank analyze collection my.index topics.jsonl qrels.txt --model minilm -o statistics.json
    """
    from longrank.verbs.analyze import analyze

    check_output(output, source, queries, qrels)
    with console.progress("measuring", None, "documents") as advance:
        analysis = analyze.collection(
            source,
            queries,
            qrels,
            model=model,
            level=level,
            field=field,
            show_text=show_text,
            seed=seed,
            progress=advance,
        )
    deliver(analysis, output)
