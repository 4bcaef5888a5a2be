"""Analyses as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from longrank.analysis.agreement import Agreement
from longrank.analysis.collection import Documents, Judgments, Queries
from longrank.analysis.deltas import Deltas
from longrank.analysis.distribution import Distribution
from longrank.analysis.positions import TENTHS, Positions
from longrank.analysis.relevant_passages import RelevantPassages
from longrank.analysis.result import columns
from longrank.analysis.sweeps import Point
from longrank.errors import printable
from longrank.evaluation.render import p_text
from longrank.types import Document

SHOWN = 300  # characters of a document that is shown
_DISTRIBUTION = ("mean", "min", "10%", "25%", "median", "75%", "90%", "99%", "max")


def collection_text(documents: Documents, queries: Queries | None, judged: Judgments | None) -> str:
    """Return counts of documents, queries and judgments, their lengths, and an example of each grade."""
    lines = [f"documents  {documents.n:,}" + (f", {documents.empty:,} without text" if documents.empty else "")]
    rows = [(f"{unit} of a document", *_cells(lengths)) for unit, lengths in documents.lengths.items()]
    if queries is not None:
        lines.append(f"queries    {queries.n:,}" + ("" if queries.judged is None else f", {queries.judged:,} judged"))
        rows.append(("words of a query", *_cells(queries.words)))
    if judged is not None:
        rate = share(judged.relevant / (judged.n or 1))
        lines.append(f"judgments  {judged.n:,}, {judged.relevant:,} relevant ({rate})")
        rows.append(("judgments of a query", *_cells(judged.per_query)))
        rows.append(("relevant to a query", *_cells(judged.relevant_per_query)))
    lines += ["", columns(("", *_DISTRIBUTION), rows)]
    return "\n".join([*lines, *([] if judged is None else _judgment_lines(judged))])


def _judgment_lines(judged: Judgments) -> Iterator[str]:
    examples = {example.grade: example for example in judged.examples}
    units = list(judged.examples[0].lengths) if judged.examples else []
    rows: list[tuple[str, ...]] = []
    for grade, n in judged.grades.items():
        example = examples.get(grade)
        cells = ["-"] * (2 + len(units))
        if example:
            cells = [example.query_id, example.doc_id, *(f"{example.lengths[unit]:,}" for unit in units)]
        rows.append((str(grade), f"{n:,}", *cells))
    yield "\n" + columns(("grade", "judgments", "e.g. query", "document", *units), rows)
    for kind, missing in (
        (f"judged documents missing, with {judged.of_missing:,} judgments", judged.missing),
        ("judged queries missing", judged.unknown or ()),
    ):
        if missing:
            yield f"\n{len(missing):,} {kind}: {', '.join(missing[:5])}{', ...' if len(missing) > 5 else ''}"


def examples_text(judged: Judgments, documents: Iterable[Document], texts: Mapping[str, str]) -> str:
    """Return the query and the beginning of the document of each example."""
    ids = {example.doc_id for example in judged.examples}
    document_of = {document.doc_id: document for document in documents if document.doc_id in ids}
    lines = []
    for example in judged.examples:
        document = document_of[example.doc_id]
        text = f"{document.title} {document.text}".strip()
        rest = f"... (of {len(text):,} characters)" if len(text) > SHOWN else ""
        query = printable(texts.get(example.query_id, ""))
        lines.append(f"\ngrade {example.grade}, query {example.query_id}: {query}")
        lines.append(f"document {example.doc_id}: {printable(' '.join(text.split())[:SHOWN])}{rest}")
    return "\n".join(lines)


def relevant_passages_text(counted: RelevantPassages, by_documents: bool) -> str:
    """Return how many relevant passages relevant documents have; `by_documents`: documents have own judgments."""
    mean = f"{counted.per_document.mean:.2f} on average"
    lines = [f"{counted.n:,} relevant documents have a relevant passage, {mean}"]
    if by_documents:
        others = f"{counted.left_out:,} others have one and are not relevant themselves"
        lines.append(f"{counted.without:,} have none; {others}")
    rows = [("exactly 1", counted.exactly_1), ("1 or 2", counted.up_to_2), ("3 or more", counted.from_3)]
    lines.append(columns(("relevant passages", "documents"), [(name, share(value)) for name, value in rows]))
    return "\n".join(lines)


def positions_text(groups: Mapping[str, Positions]) -> str:
    """Return where best passages stand: a row for each group of documents."""
    head = ("", "documents", "of one passage", "first wins", "by chance", "mean number", "median", "mean place")
    rows: list[tuple[str, ...]] = []
    for name, group in groups.items():
        index = ("-", "-") if group.index is None else (f"{group.index.mean:.1f}", f"{group.index.percentiles[50]:g}")
        counts = (f"{group.documents:,}", f"{group.single:,}", share(group.first), share(group.by_chance))
        rows.append((name, *counts, *index, share(group.mean_place)))
    tenths = [(name, *map(share, group.tenths or (None,) * TENTHS)) for name, group in groups.items()]
    below = columns(("", *map(str, range(1, TENTHS + 1))), tenths)
    return f"{columns(head, rows)}\n\nshare of the best passages that stands in each tenth of their documents\n{below}"


def deltas_text(differences: Deltas, measure: str, shown: int) -> str:
    """Return wins, ties and losses, and the `shown` best and worst queries; 0: all."""
    d, n = differences, len(differences.rows)
    p = "" if d.p is None else f", p {p_text(d.p)} (paired t-test)"
    places = range(n) if shown == 0 or 2 * shown >= n else [*range(shown), *range(n - shown, n)]
    rows, before = [], -1
    for place in places:
        if place > before + 1:
            rows.append(("...", "", "", ""))
        row, before = d.rows[place], place
        rows.append((row.query_id, f"{row.value:.4f}", f"{row.baseline:.4f}", f"{row.delta:+.4f}"))
    table = columns(("query", "run", "baseline", "difference"), rows)
    return f"{measure}: {d.wins} wins, {d.ties} ties, {d.losses} losses; mean {d.mean:+.4f}{p}\n\n{table}"


def judged_text(shares: Mapping[str, Mapping[int, float]]) -> str:
    """Return the judged share of each run's first k documents."""
    cutoffs = next(iter(shares.values()))
    rows = [(name, *map(share, line.values())) for name, line in shares.items()]
    return columns(("run", *(f"judged@{k}" for k in cutoffs)), rows)


def agreement_text(pairs: Sequence[Agreement], names: Mapping[str, str]) -> str:
    """Return how alike each pair of runs is; `names`: measure -> head of its column."""
    rows = []
    for pair in pairs:
        means = [pair.means[measure] for measure in names]
        cells = ("-" if mean is None else f"{mean:.4f}" for mean in means)
        rows.append((pair.one, pair.other, str(pair.queries), *cells))
    return columns(("run", "other", "queries", *names.values()), rows)


def points_text(points: Sequence[Point], unit: str) -> str:
    """Return effectiveness by the number of passages or documents that are kept; `unit` heads the first column."""
    names = list(dict.fromkeys(point.aggregator for point in points))
    measures = list(points[0].values)
    cells = {(point.n, point.aggregator): point.values for point in points}
    rows = [
        ("all" if n is None else str(n), *(f"{cells[n, name][measure]:.4f}" for measure in measures for name in names))
        for n in dict.fromkeys(point.n for point in points)
    ]
    return columns((unit, *(f"{name} {measure}" for measure in measures for name in names)), rows)


def share(value: float | None) -> str:
    """Return a share in per cent; ``-`` for none."""
    return "-" if value is None else f"{value:.1%}"


def _cells(lengths: Distribution) -> Iterator[str]:
    yield f"{lengths.mean:,.1f}"
    values = (lengths.min, *lengths.percentiles.values(), lengths.max)  # a percentile may lie between two lengths
    yield from (f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}" for value in values)
