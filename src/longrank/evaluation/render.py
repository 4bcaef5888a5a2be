"""Render evaluation tables: text, JSON, CSV, LaTeX, Markdown or HTML; and values query by query.

JSON and CSV have full precision. The others have four decimals, mark the best value of a column, and put an asterisk
at significant differences.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from html import escape

from longrank.errors import printable
from longrank.evaluation.figures import Figures, SystemRow
from longrank.evaluation.measures import PerQuery, is_count, summarise
from longrank.types import Notes, html_table
from longrank.types.html import Markup

_TEST_NAMES = {"t": "paired t-test", "randomization": "paired randomization test"}
_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
}


def as_text(table: Figures) -> str:
    """Return aligned columns: the figures, and below them each comparison with its p."""
    head = ["system", *table.measures]
    body = [[printable(row.name), *_cells(table, row, "{}^", "{}*")] for row in table.rows]
    parts = [aligned([head, *body])]
    if table.baseline is not None:
        parts.append(aligned(_comparisons(table)))
    marks = ["^ best of the column"] if any("^" in cell for row in body for cell in row[1:]) else []
    marks += [f"* {_legend(table)}"] if table.baseline is not None else []
    parts += ["\n".join(marks)] if marks else []
    return "\n\n".join(parts) + "\n"


def with_notes(notes: Notes, text: str) -> str:
    """Return the notes, a line each, above a text."""
    lines = notes.lines()
    return "".join(f"note: {printable(line)}\n" for line in lines) + "\n" * bool(lines) + text.rstrip("\n")


def html_notes(notes: Notes) -> str:
    """Return the notes as HTML paragraphs."""
    return "".join(f"<p>note: {escape(printable(line))}</p>" for line in notes.lines())


def as_html(table: Figures) -> str:
    """Return the notes, the figures with best values bold, and the comparisons as HTML; all text is escaped."""
    rows = [[printable(row.name), *map(Markup, _cells(table, row, "<b>{}</b>", "{}*"))] for row in table.rows]
    text = html_notes(table.notes) + html_table(["system", *table.measures], rows)
    if table.baseline is None:
        return text
    head, *comparisons = _comparisons(table)
    return text + html_table(head, comparisons, f"* {_legend(table)}")


def as_markdown(table: Figures) -> str:
    """Return a Markdown table, best values bold."""
    head = ["system", *table.measures]
    lines = [head, ["---", *("---:" for _ in table.measures)]]
    lines += [[markdown_text(row.name), *_cells(table, row, "**{}**", "{}\\*")] for row in table.rows]
    if table.baseline is None:
        return pipes(lines)
    head, *body = _comparisons(table)
    against = [head, ["---", "---", *("---:" for _ in head[2:])], *body]
    escaped = [list(map(markdown_text, line)) for line in against]
    return f"{pipes(lines)}\n{pipes(escaped)}\n\\* {markdown_text(_legend(table))}\n"


def pipes(lines: Iterable[Sequence[str]]) -> str:
    """Return lines of cells, already escaped, as rows of a Markdown table."""
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def as_latex(table: Figures) -> str:
    """Return a LaTeX tabular for the package booktabs, best values bold."""
    lines = [["system", *map(_latex, table.measures)]]
    lines += [[_latex(row.name), *_cells(table, row, r"\textbf{{{}}}", r"{}$^{{*}}$")] for row in table.rows]
    figures = _tabular(lines, "l" + "r" * len(table.measures))
    if table.baseline is None:
        return f"% needs the package booktabs\n{figures}"
    against = [list(map(_latex, line)) for line in _comparisons(table)]
    return f"% * {_legend(table)}\n{figures}\n{_tabular(against, 'll' + 'r' * (len(against[0]) - 2))}"


def _tabular(lines: Iterable[Sequence[str]], columns: str) -> str:
    head, *body = [" & ".join(line) + r" \\" for line in lines]
    begin = rf"\begin{{tabular}}{{{columns}}}"
    return "\n".join([begin, r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}", ""])


def as_json(table: Figures) -> str:
    """Return figures and comparisons by system and measure as a JSON object."""
    systems = [
        {
            "name": row.name,
            "queries": row.queries,
            "values": dict(zip(table.measures, row.values, strict=True)),
            "comparisons": {
                measure: asdict(comparison)
                for measure, comparison in zip(table.measures, row.comparisons, strict=True)
                if comparison is not None
            },
        }
        for row in table.rows
    ]
    keys = ("baseline", "test", "correction", "comparisons", "threshold") if table.baseline is not None else ()
    return json_text({"systems": systems, **{key: getattr(table, key) for key in keys}})


def as_csv(table: Figures) -> str:
    """Return CSV, one line per system and measure."""
    lines: list[Sequence[object]] = [
        ("system", "queries", "measure", "value", "delta", "p", "p_corrected", "significant")
    ]
    for row in table.rows:
        for measure, value, comparison in zip(table.measures, row.values, row.comparisons, strict=True):
            cells = asdict(comparison).values() if comparison is not None else [None] * 4
            lines.append((spreadsheet_safe(row.name), row.queries, measure, value, *cells))
    return csv_text(lines)


def per_query_text(results: Mapping[str, PerQuery]) -> str:
    """Return measure, query and value, then the figures for ``all``, per system, as ``trec_eval -q`` prints them."""
    return "".join(
        f"{measure:<22}\t{query_id}\t{value}\n"
        for name, per_query in results.items()
        for measure, query_id, value in [("runid", "all", printable(name)), *_values_and_all(per_query)]
    )


def per_query_json(results: Mapping[str, PerQuery]) -> str:
    """Return a JSON object: system -> ``queries`` (measure -> query_id -> value) and ``all`` (measure -> value)."""
    return json_text(
        {
            name: {
                "queries": per_query,
                "all": {measure: summarise(measure, values.values()) for measure, values in per_query.items()},
            }
            for name, per_query in results.items()
        }
    )


def per_query_csv(results: Mapping[str, PerQuery]) -> str:
    """Return CSV, one line per system, measure and query."""
    return csv_text(
        [
            ("system", "measure", "query_id", "value"),
            *(
                (spreadsheet_safe(name), measure, spreadsheet_safe(query_id), value)
                for name, per_query in results.items()
                for measure, values in per_query.items()
                for query_id, value in values.items()
            ),
        ]
    )


RENDERERS: dict[str, Callable[[Figures], str]] = {
    "table": as_text,
    "json": as_json,
    "csv": as_csv,
    "latex": as_latex,
    "markdown": as_markdown,
}
PER_QUERY_RENDERERS: dict[str, Callable[[Mapping[str, PerQuery]], str]] = {
    "table": per_query_text,
    "json": per_query_json,
    "csv": per_query_csv,
}


def _cells(table: Figures, row: SystemRow, best: str, significant: str) -> list[str]:
    cells = []
    for column, (value, comparison) in enumerate(zip(row.values, row.comparisons, strict=True)):
        cell = _figure(table.measures[column], value)
        if value == table.best(column):
            cell = best.format(cell)
        cells.append(significant.format(cell) if comparison is not None and comparison.significant else cell)
    return cells


def _figure(measure: str, value: float) -> str:
    return str(round(value)) if is_count(measure) else f"{value:.4f}"


def _comparisons(table: Figures) -> list[list[str]]:
    adjusted = [f"p {table.correction}"] if table.correction else []
    lines = [[f"against {printable(table.baseline or '')}", "measure", "delta", "p", *adjusted]]
    for row in table.rows:
        for measure, c in zip(table.measures, row.comparisons, strict=True):
            if c is not None:
                p_values = [p_text(c.p), p_text(c.p_corrected)] if adjusted else [p_text(c.p)]
                lines.append([printable(row.name), measure, f"{c.delta:+.4f}", *p_values])
    return lines


def p_text(p: float | None) -> str:
    """Return a p-value with four decimals."""
    if p is None:
        return "-"
    return f"{p:.4f}" if p >= 0.0001 else "<0.0001"


def _legend(table: Figures) -> str:
    correction = f", {table.correction}" if table.correction else ", not corrected"
    return (
        f"differs from {printable(table.baseline or '')} with p < {table.threshold:g} "
        f"({_TEST_NAMES[table.test]}{correction}, {table.comparisons} comparisons)"
    )


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Align words to the left, and figures by their last digit before any marks."""
    columns = [
        _words(column) if index == 0 or column[0] == "measure" else _figures(column)
        for index, column in enumerate(zip(*lines, strict=True))
    ]
    return "\n".join("  ".join(cells).rstrip() for cells in zip(*columns, strict=True))


def _words(column: Sequence[str]) -> list[str]:
    width = max(map(len, column))
    return [cell.ljust(width) for cell in column]


def _figures(column: Sequence[str]) -> list[str]:
    marks = [len(cell) - len(cell.rstrip("^*")) for cell in column]
    padded = [cell + " " * (max(marks) - count) for cell, count in zip(column, marks, strict=True)]
    width = max(map(len, padded))
    return [cell.rjust(width) for cell in padded]


def _values_and_all(per_query: PerQuery) -> Iterable[tuple[str, str, str]]:
    query_ids = dict.fromkeys(q for values in per_query.values() for q in values)
    for query_id in query_ids:
        for measure, values in per_query.items():
            if measure != "NumQ":  # trec_eval gives the number of queries for "all" only
                yield measure, query_id, _figure(measure, values[query_id])
    for measure, values in per_query.items():
        yield measure, "all", _figure(measure, summarise(measure, values.values()))


def json_text(value: object) -> str:
    """Return indented JSON; NaN is refused."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def csv_text(lines: Iterable[Sequence[object]]) -> str:
    """Return lines of cells as CSV."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(lines)
    return stream.getvalue()


def spreadsheet_safe(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would read as a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _latex(text: str) -> str:
    before = "{}" if text.startswith(("[", "*")) else ""  # which would belong to the line end before
    return before + "".join(_LATEX.get(character, character) for character in printable(text))


def markdown_text(text: str) -> str:
    """Return text with Markdown's special characters escaped."""
    return "".join(f"\\{character}" if character in "\\`*_{}[]<>|#" else character for character in printable(text))
