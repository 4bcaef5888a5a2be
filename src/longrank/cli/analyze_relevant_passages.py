"""``longrank analyze relevant-passages``: how many passages make a document relevant."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longrank.cli import console
from longrank.cli.analyze_output import Level, Output, check_output, share, show, write


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
    from longrank.analysis.plots import plot_counts
    from longrank.analysis.relevant_passages import before, mapped
    from longrank.analysis.relevant_passages import relevant_passages as count
    from longrank.collections import places, read_qrels
    from longrank.collections.judgments import read_judgments
    from longrank.errors import InputError
    from longrank.formats.passage_documents import read_passage_documents
    from longrank.types import Notes

    notes = Notes()
    check_output(output, passage_qrels, mapping, qrels)
    if document_level is not None and qrels is None:
        raise InputError("--document-level is of --qrels", got=document_level, fix="give --qrels")
    document_level = 1 if document_level is None else document_level
    judged = read_judgments(places(passage_qrels, "passage_qrels"), notes)
    if mapping is None:
        document_of = before(separator)
    else:
        passages = {passage for grades in judged.values() for passage in grades}
        document_of = mapped(read_passage_documents(mapping, passages, notes))
    found = count(
        judged,
        document_of,
        level=level,
        qrels=None if qrels is None else read_qrels(qrels, notes),
        document_level=document_level,
    )
    typer.echo(f"{found.n:,} relevant documents have a relevant passage, {found.per_document.mean:.2f} on average")
    if qrels is not None:
        typer.echo(f"{found.without:,} have none; {found.left_out:,} others have one and are not relevant themselves")
    rows = [("exactly 1", found.exactly_1), ("1 or 2", found.up_to_2), ("3 or more", found.from_3)]
    show(("relevant passages", "documents"), [(name, share(value)) for name, value in rows])
    record = {"passage_qrels": passage_qrels, "level": level, "qrels": qrels, "document_level": document_level}
    write(
        output,
        {**record, "result": found},
        lambda path: plot_counts(
            path, found.counts, title=f"{found.n:,} relevant documents", across="relevant passages of a document"
        ),
    )
    console.show_notes(notes)
