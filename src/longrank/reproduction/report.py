"""A result as text: for the terminal, and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from longrank.collections.catalogue import catalogue
from longrank.evaluation.render import aligned, markdown_text, pipes
from longrank.reproduction.results import Result
from longrank.reproduction.table import Cell, ReportTable, how_matched, how_tested, in_words, table_of, title

GIVEN = "Inputs that the recipe leaves open"


def as_text(result: Result) -> str:
    """Return a result for a terminal: a column for each measure, published above obtained figures."""
    table = table_of(result)
    head = ["", *table.columns]
    body = []
    for row in table.rows:
        cells = [row.cells[column] for column in table.columns]
        body.append([row.name, *(cell.published or row.instead or "-" for cell in cells)])
        if any(cell.obtained for cell in cells):
            body.append(["  obtained", *(_obtained(cell) or "-" for cell in cells)])
    parts = [f"{title(result)}: {result.recipe.about}", aligned([head, *body]), *summary(result, table)]
    return "\n".join(parts) + "\n"


def as_markdown(result: Result, script: str, versions: Mapping[str, str], plots: Sequence[str] = ()) -> str:
    """Return a report as Markdown.

    Args:
        result: the result.
        script: its commands.
        versions: versions and machine.
        plots: names of pictures beside the report.
    """
    table = table_of(result)
    parts = [f"# {_safe(title(result))}: {_safe(result.recipe.about)}", _facts(result)]
    parts += ["\n\n".join(map(_safe, summary(result, table)))]
    if result.departures:
        parts += ["## Differences from the paper", _bullets(map(_safe, result.departures))]
    if result.inputs:
        parts += [f"## {GIVEN}", _bullets(map(_safe, result.inputs))]
    parts += ["## Published and obtained", _figures(table)]
    parts += [_notes(table)] if table.footnotes else []
    parts += ["## p of the paper's test", _p_values(table)] if table.p else []
    parts += [f"![{name}]({name})" for name in plots]
    if result.recipe.decision:
        parts += ["## Decisions where the paper is silent or differs from its code", _decisions(result)]
    parts += ["## Commands", _code(script)]
    parts += ["## Settings and models", _pairs(settings_of(result))]
    parts += ["## Made by", _pairs(versions)]
    return "\n\n".join(parts) + "\n"


def summary(result: Result, table: ReportTable) -> list[str]:
    """Return the result in a few sentences."""
    sentences = [in_words(table.verdicts)]
    if result.departures:
        sentences.append("Figures are not compared with the paper's, since this reproduction differs from the paper.")
    elif table.verdicts:
        sentences.append(how_matched(result.recipe))
    tested = how_tested(result)
    return [*sentences, tested] if tested else sentences


def settings_of(result: Result) -> dict[str, str]:
    """Return the settings and models used, flat: ``train.steps`` -> ``100``."""
    settings = dict(_flat(result.recipe.settings))
    return {**settings, **{f"model {role}": model for role, model in result.models.items()}}


def about_collection(result: Result) -> str:
    """Return the name of the collection and its number of queries."""
    entry = catalogue().get(result.collection)
    name = f"{result.collection}, {entry.name}" if entry else result.collection
    return f"{name}; {result.n_queries} judged queries"


def _flat(settings: Mapping[str, object], above: str = "") -> Iterator[tuple[str, str]]:
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", str(value)


def _facts(result: Result) -> str:
    field = result.recipe.query_field
    facts = {"recipe": result.name, "on": about_collection(result)}
    facts |= {"queries": field} if field else {}
    return _bullets(f"{key}: {_safe(value)}" for key, value in facts.items())


def _figures(table: ReportTable) -> str:
    head = ["row"]
    for column in table.columns:
        head += [f"{_safe(column)}, published", "obtained"] if column in table.published else [_safe(column)]
    lines = [head, ["---", *("---:" for _ in head[1:])]]
    for row in table.rows:
        marks = f" [{', '.join(map(str, row.remarks))}]" if row.remarks else ""
        cells = [f"{_safe(row.name)}{marks}"]
        for column in table.columns:
            cell = row.cells[column]
            cells += [cell.published or row.instead] if column in table.published else []
            cells += [_safe(_obtained(cell)) + _verdict(cell)]
        lines.append(cells)
    return pipes(lines).rstrip()


def _obtained(cell: Cell) -> str:
    return f"{cell.obtained}*" if cell.significant else cell.obtained


def _verdict(cell: Cell) -> str:
    return f" {cell.verdict}" if cell.verdict in ("match", "lower", "higher") else ""


def _notes(table: ReportTable) -> str:
    return "\n".join(f"- [{number}] {_safe(text)}" for number, text in enumerate(table.footnotes, 1))


def _p_values(table: ReportTable) -> str:
    columns = list(dict.fromkeys(column for values in table.p.values() for column in values))
    lines = [["row", *map(_safe, columns)], ["---", *("---:" for _ in columns)]]
    lines += [[_safe(row), *(_safe(values.get(column, "")) for column in columns)] for row, values in table.p.items()]
    return pipes(lines).rstrip()


def _decisions(result: Result) -> str:
    return _bullets(
        f"**{_safe(decision.about)}**: {_safe(decision.text)} Here: {_safe(decision.choice.rstrip('.'))}."
        for decision in result.recipe.decision
    )


def _pairs(values: Mapping[str, str]) -> str:
    return pipes([["", ""], ["---", "---"], *([_safe(key), _safe(value)] for key, value in values.items())]).rstrip()


def _bullets(texts: Iterable[str]) -> str:
    return "\n".join(f"- {text}" for text in texts)


def _code(script: str) -> str:
    """Return commands as a code block, fenced by more backticks than they contain."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", script)), default=0))
    return f"{fence}sh\n{script}{fence}"


def _safe(text: str) -> str:
    return markdown_text(text)
