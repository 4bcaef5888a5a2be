"""``longrank analyze collection`` and ``relevant-passages``: describe documents, queries and judgments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli import console
from longrank.cli.analyze_output import Level, Output, check_output, deliver
from longrank.cli.options import Field, Plot


def collection(
    source: Annotated[str, typer.Argument(help="Index, collection folder, or irds:ID.", metavar="SOURCE")],
    queries: Annotated[
        str | None, typer.Argument(help="Queries. [default: those of the collection]", metavar="QUERIES")
    ] = None,
    qrels: Annotated[
        str | None, typer.Argument(help="Judgments. [default: those of the collection]", metavar="QRELS")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Model whose wordpieces are counted: minilm, a name, or a folder.")
    ] = None,
    level: Level = 1,
    field: Field = None,
    show_text: Annotated[
        bool, typer.Option("--show-text", help="Print the query and 300 characters of each example.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the examples.")] = 42,
    output: Output = None,
    plot: Plot = None,
) -> None:
    """Count documents, queries, their lengths and judgments.

    Lengths are of title and text: words between blanks, terms as an index counts them (without stop words), and with
    --model wordpieces. Missing judged documents are named, and a judged document of each grade.

    Example: longrank analyze collection my.index topics.jsonl qrels.txt --model minilm -o statistics.json
    """
    from longrank.collections.documents import paths_of
    from longrank.verbs.analyze import analyze

    check_output(output, plot, *paths_of([source]), queries, qrels)
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
    deliver(analysis, output, plot)


def relevant_passages(
    passage_qrels: Annotated[
        str,
        typer.Argument(
            help="Judgments of passages in TREC format, or a collection that has them. A passage id is the "
            "document's id, a separator and the passage's number. WebAP's graded file is read, too.",
            metavar="PASSAGE_QRELS",
        ),
    ],
    separator: Annotated[str, typer.Option(help="Text between document and passage number; _ in FiRA.")] = "#",
    mapping: Annotated[
        Path | None, typer.Option(help="TSV file of passage and document ids, if they are unrelated.")
    ] = None,
    level: Level = 1,
    qrels: Annotated[str | None, typer.Option(help="Judgments of documents; only relevant documents count.")] = None,
    document_level: Annotated[
        int | None, typer.Option(min=1, help="Lowest relevant grade of --qrels. [default: 1]")
    ] = None,
    output: Output = None,
    plot: Plot = None,
) -> None:
    """Count the relevant passages of relevant documents (PARADE, table 9).

    If one passage makes most documents relevant, the best passage is enough; if several do, a model should read them
    together.

    Example: longrank analyze relevant-passages fira-trec19-qrels-snippets.txt --separator _ --level 3
    """
    from longrank.verbs.analyze import analyze

    check_output(output, plot, passage_qrels, mapping, qrels)
    analysis = analyze.relevant_passages(
        passage_qrels, separator=separator, mapping=mapping, level=level, qrels=qrels, document_level=document_level
    )
    deliver(analysis, output, plot)
