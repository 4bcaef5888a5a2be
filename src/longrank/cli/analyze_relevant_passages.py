"""``longrank analyze relevant-passages``: how many passages make a document relevant."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli.analyze_output import Level, Output, check_output, deliver


def relevant_passages(
    passage_qrels: Annotated[
        str,
        typer.Argument(
            help="Judgments of passages, TREC: ids are the document's, a separator and the passage's number. Or a "
            "collection folder that has some.",
            metavar="PASSAGE_QRELS",
        ),
    ],
    separator: Annotated[
        str, typer.Option("--separator", help="What stands between document and passage; _ in FiRA.")
    ] = "#",
    mapping: Annotated[
        Path | None,
        typer.Option("--mapping", help="TSV of passage and document, for passages with ids of their own."),
    ] = None,
    level: Level = 1,
    qrels: Annotated[
        str | None, typer.Option("--qrels", help="Count only documents that are relevant by these judgments, too.")
    ] = None,
    document_level: Annotated[
        int | None,
        typer.Option("--document-level", min=1, help="Lowest relevant grade of --qrels. [default: 1]"),
    ] = None,
    output: Output = None,
) -> None:
    """Count the relevant passages of relevant documents.

    Where one passage makes most documents relevant, the best passage says enough; where several do, they should be
    read together (PARADE, table 9).

    Example: longrank analyze relevant-passages fira-trec19-qrels-snippets.txt --separator _ --level 3
    """
    from longrank.verbs.analyze import analyze

    check_output(output, passage_qrels, mapping, qrels)
    analysis = analyze.relevant_passages(
        passage_qrels,
        separator=separator,
        mapping=mapping,
        level=level,
        qrels=qrels,
        document_level=document_level,
    )
    deliver(analysis, output)
