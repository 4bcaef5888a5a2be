"""A result as one HTML page: light and dark, printable, without scripts or other files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path

from longrank.errors import printable
from longrank.reproduction.report import GIVEN, about_collection, settings_of, summary
from longrank.reproduction.report_plots import in_page
from longrank.reproduction.results import Result
from longrank.reproduction.table import Cell, ReportRow, ReportTable, table_of, title

_STYLE = (Path(__file__).parent / "report.css").read_text(encoding="utf-8")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_SHORT = {"not comparable here": "", "not obtained": "not obtained"}
"""Text of a verdict in a cell, if it differs from the verdict's name."""


def as_html(result: Result, script: str, versions: Mapping[str, str], plots: Mapping[str, str] | str) -> str:
    """Return a report as a page.

    Args:
        result: the result.
        script: its commands.
        versions: versions and machine.
        plots: name -> SVG, or the reason why there are no plots.
    """
    table, recipe = table_of(result), result.recipe
    parts = [f"<h1>{text(title(result))}</h1>", f'<p class="about">{text(recipe.about)}</p>', _facts(result)]
    parts += [f"<p>{text(sentence)}</p>" for sentence in summary(result, table)]
    if result.departures:
        parts += [_section("Differences from the paper", _list(result.departures))]
    if result.inputs:
        parts += [_section(GIVEN, _list(result.inputs))]
    parts += [_section("Published and obtained", _figures(table) + _footnotes(table))]
    parts += [_plots(plots)]
    parts += [_section("p of the paper's test", _p_values(table))] if table.p else []
    if recipe.decision:
        decisions = [(each.about, f"{each.text} Here: {each.choice.rstrip('.')}.") for each in recipe.decision]
        parts += [_section("Decisions where the paper is silent or differs from its code", _terms(decisions))]
    commands = "\n".join(map(text, script.splitlines()))
    parts += [_section("Commands", f"<pre>{commands}</pre>")]
    parts += [_section("Settings and models", _terms(settings_of(result).items(), "settings"))]
    parts += [_section("Made by", _terms(versions.items(), "settings"))]
    return page(f"{title(result)}: {recipe.about}", "\n".join(parts))


def page(name: str, body: str) -> str:
    """Return an HTML page with a title and a body."""
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(name)}</title>\n<style>\n{_STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def verdict_class(verdict: str) -> str:
    """Return the CSS class of a verdict."""
    return verdict.replace(" ", "-")


def text(value: str) -> str:
    """Escape text for a page, inside or outside of an attribute."""
    return escape(printable(value))


def _facts(result: Result) -> str:
    facts = [("recipe", result.name), ("on", about_collection(result))]
    facts += [("queries", result.recipe.query_field)] if result.recipe.query_field else []
    return _terms(facts, "facts")


def _section(name: str, body: str) -> str:
    return f"<section>\n<h2>{text(name)}</h2>\n{body}\n</section>"


def _list(texts: Iterable[str]) -> str:
    return "<ul>\n" + "".join(f"<li>{text(each)}</li>\n" for each in texts) + "</ul>"


def _terms(pairs: Iterable[tuple[str, str]], kind: str = "terms") -> str:
    return f'<dl class="{kind}">\n' + "".join(f"<dt>{text(a)}</dt><dd>{text(b)}</dd>\n" for a, b in pairs) + "</dl>"


def _figures(table: ReportTable) -> str:
    measures, kinds = ['<th rowspan="2" scope="col">row</th>'], []
    for column in table.columns:
        published = column in table.published
        measures.append(f'<th colspan="{1 + published}" scope="colgroup">{text(column)}</th>')
        kinds += ['<th scope="col" class="published">published</th>'] if published else []
        kinds.append('<th scope="col">obtained</th>')
    head = f"<thead>\n<tr>{''.join(measures)}</tr>\n<tr>{''.join(kinds)}</tr>\n</thead>"
    rows = "\n".join(_row(row, table) for row in table.rows)
    return f'<div class="wide"><table class="figures">\n{head}\n<tbody>\n{rows}\n</tbody>\n</table></div>'


def _row(row: ReportRow, table: ReportTable) -> str:
    marks = "".join(f'<sup><a href="#n{number}">{number}</a></sup>' for number in row.remarks)
    cells = [f'<th scope="row">{text(row.name)}{marks}</th>']
    for column in table.columns:
        cell = row.cells[column]
        if column in table.published:
            cells.append(f'<td class="published">{text(cell.published or row.instead)}</td>')
        cells.append(_obtained(cell))
    return f"<tr>{''.join(cells)}</tr>"


def _obtained(cell: Cell) -> str:
    star = '<span class="star">*</span>' if cell.significant else ""
    if cell.verdict is None:
        return f"<td>{text(cell.obtained)}{star}</td>"
    label = _SHORT.get(cell.verdict, cell.verdict)
    word = f'<span class="verdict">{text(label)}</span>' if label else ""
    return f'<td class="{verdict_class(cell.verdict)}">{text(cell.obtained)}{star}{word}</td>'


def _footnotes(table: ReportTable) -> str:
    if not table.footnotes:
        return ""
    notes = "".join(f'<li id="n{number}">{text(each)}</li>\n' for number, each in enumerate(table.footnotes, 1))
    return f'\n<ol class="notes">\n{notes}</ol>'


def _plots(plots: Mapping[str, str] | str) -> str:
    if isinstance(plots, str):
        return f'<p class="missing">{text(plots)}</p>'
    labels = {"figures": "published and obtained figures", "queries": "differences by query"}
    return "\n".join(f"<figure>{in_page(svg, labels[name])}</figure>" for name, svg in plots.items())


def _p_values(table: ReportTable) -> str:
    columns = list(dict.fromkeys(column for values in table.p.values() for column in values))
    head = "".join(f'<th scope="col">{text(each)}</th>' for each in ("row", *columns))
    rows = []
    for row, values in table.p.items():
        cells = "".join(f"<td>{text(values.get(column, ''))}</td>" for column in columns)
        rows.append(f'<tr><th scope="row">{text(row)}</th>{cells}</tr>')
    body = "\n".join(rows)
    return f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'
