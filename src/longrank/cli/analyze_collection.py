"""``longrank analyze collection``: what a collection is like."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from longrank.cli import console
from longrank.cli.analyze_output import DISTRIBUTION, Level, Output, cells, check_output, share, show, write
from longrank.errors import InputError

if TYPE_CHECKING:
    from longrank.analysis.collection import Documents, Judgments, Queries
    from longrank.analysis.distribution import Distribution
    from longrank.types import Document

_SHOWN = 300  # characters of an example's document


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
        bool, typer.Option("--show-text", help=f"Show {_SHOWN} characters of each example, and its query.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", help="Of the examples.")] = 42,
    output: Output = None,
) -> None:
    """Count documents, queries, their lengths and judgments.

    Lengths are of title and text: words between blanks, terms as an index counts them (without stop words), and with
    --model wordpieces. Judged documents that are missing are named, and one judged document of each grade.

    Example: longrank analyze collection my.index topics.jsonl qrels.txt --model minilm -o statistics.json
    """
    from longrank.analysis.collection import asked, judged_documents, judgments, measured
    from longrank.analysis.plots import plot_distributions
    from longrank.analysis.sources import open_source, wordpieces
    from longrank.collections import read_qrels, read_queries
    from longrank.types import Notes

    notes = Notes()
    check_output(output, source, queries, qrels)
    opened = open_source(source, notes)
    query_source, qrels_source, counts = queries or opened.queries, qrels or opened.qrels, dict(opened.counts)
    topics = read_queries(query_source, notes, field=field) if query_source else None
    grades = read_qrels(qrels_source, notes) if qrels_source else None
    if show_text and grades is None:
        raise InputError("--show-text shows judged documents", fix="name the judgments, too")
    if model is not None:
        counts["wordpieces"] = wordpieces(model)
    with console.progress("measuring", None, "documents") as advance:
        kept = frozenset() if grades is None else judged_documents(grades)
        found, lengths = measured(_counted(opened.documents(), advance), counts, kept)
    about = None if topics is None else asked(topics, grades)
    judged = None if grades is None else judgments(grades, lengths, topics, level=level, seed=seed)
    _print(found, about, judged)
    if show_text and judged is not None:
        _show_examples(judged, opened.documents(), {} if topics is None else {one.query_id: one.text for one in topics})
    drawn: dict[str, Distribution] = {f"{unit} of a document": one for unit, one in found.lengths.items()}
    what = dict.fromkeys(drawn, "documents")
    if judged is not None:
        drawn["judgments of a query"] = judged.per_query
        what["judgments of a query"] = "queries"
    record = {"source": source, "model": model, "documents": found, "queries": about, "judgments": judged}
    write(output, record, lambda path: plot_distributions(path, drawn, what))
    console.show_notes(notes)


def _counted(documents: Iterable[Document], advance: Callable[[int], None]) -> Iterator[Document]:
    for document in documents:
        yield document
        advance(1)


def _print(documents: Documents, queries: Queries | None, judged: Judgments | None) -> None:
    typer.echo(f"documents  {documents.n:,}" + (f", {documents.empty:,} without text" if documents.empty else ""))
    rows = [(f"{unit} of a document", *cells(one)) for unit, one in documents.lengths.items()]
    if queries is not None:
        typer.echo(f"queries    {queries.n:,}" + ("" if queries.judged is None else f", {queries.judged:,} judged"))
        rows.append(("words of a query", *cells(queries.words)))
    if judged is not None:
        typer.echo(
            f"judgments  {judged.n:,}, {judged.relevant:,} relevant ({share(judged.relevant / (judged.n or 1))})"
        )
        rows.append(("judgments of a query", *cells(judged.per_query)))
        rows.append(("relevant to a query", *cells(judged.relevant_per_query)))
    typer.echo()
    show(("", *DISTRIBUTION), rows)
    if judged is not None:
        _print_judgments(judged)


def _print_judgments(judged: Judgments) -> None:
    typer.echo()
    drawn = {example.grade: example for example in judged.examples}
    units = list(next(iter(drawn.values())).lengths) if drawn else []
    rows = []
    for grade, n in judged.grades.items():
        one = drawn.get(grade)
        example = [one.query_id, one.doc_id, *(f"{one.lengths[unit]:,}" for unit in units)] if one else []
        rows.append((str(grade), f"{n:,}", *(example or ["-"] * (2 + len(units)))))
    show(("grade", "judgments", "e.g. query", "document", *units), rows)
    for what, missing in (
        (f"judged documents missing, with {judged.of_missing:,} judgments", judged.missing),
        ("judged queries missing", judged.unknown or ()),
    ):
        if missing:
            typer.echo(f"\n{len(missing):,} {what}: {_some(missing)}")


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:5]) + (", ..." if len(ids) > 5 else "")


def _show_examples(judged: Judgments, documents: Iterable[Document], texts: dict[str, str]) -> None:
    from longrank.errors import printable

    wanted = {example.doc_id for example in judged.examples}
    found = {document.doc_id: document for document in documents if document.doc_id in wanted}
    for example in judged.examples:
        document = found[example.doc_id]
        text = f"{document.title} {document.text}".strip()
        cut = f"... (of {len(text):,} characters)" if len(text) > _SHOWN else ""
        typer.echo(f"\ngrade {example.grade}, query {example.query_id}: {printable(texts.get(example.query_id, ''))}")
        typer.echo(f"document {example.doc_id}: {printable(' '.join(text.split())[:_SHOWN])}{cut}")
