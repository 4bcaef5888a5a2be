"""Render an outcome of tuning: JSON, or a table with a line for each choice and for the result."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from longrank.errors import printable
from longrank.evaluation.measures import is_count
from longrank.evaluation.render import aligned, csv_text, html_notes, json_text, markdown_text, pipes, spreadsheet_safe
from longrank.evaluation.tuning.grids import shown_setting, shown_value
from longrank.evaluation.tuning.values import Choice, GridValues, Outcome
from longrank.types import Notes, html_table


def as_json(table: GridValues, outcome: Outcome, about: Mapping[str, Any]) -> str:
    """Return protocol and inputs (`about`), the result, the choices, and the figure of every setting, as JSON.

    The figures of the settings are over all judged queries.
    """
    figures = table.figures(table.query_ids)
    result = {
        "setting": None if outcome.setting is None else dict(outcome.setting),
        "n_queries": len(outcome.setting_of),
        "value": outcome.value,
        "held_out": outcome.held_out,
        "remark": outcome.remark,
    }
    values = [{"setting": dict(each), "value": value} for each, value in zip(table.settings, figures, strict=True)]
    choices = [_choice_json(table, choice) for choice in outcome.choices]
    return json_text(
        {**about, "result": result, "choices": choices, "n_queries": len(table.query_ids), "values": values}
    )


def _choice_json(table: GridValues, choice: Choice) -> dict[str, Any]:
    return {
        "name": choice.name,
        "setting": dict(table.settings[choice.setting]),
        "chosen_on": list(choice.chosen_on),
        "value": _value(table, choice, choice.chosen_on),
        "tested_on": list(choice.tested_on),
        "test_value": _value(table, choice, choice.tested_on),
    }


def as_text(table: GridValues, outcome: Outcome) -> str:
    """Return aligned columns, the setting, and the remark."""
    lines = _lines(table, outcome, _rounded(table.measure))
    setting = "" if outcome.setting is None else f"{shown_setting(outcome.setting)}\n"
    return f"{aligned(lines)}\n\n{setting}{outcome.remark}\n"


def as_markdown(table: GridValues, outcome: Outcome) -> str:
    """Return a Markdown table and the remark."""
    lines = _lines(table, outcome, _rounded(table.measure))
    head, *body = [list(map(markdown_text, line)) for line in lines]
    return f"{pipes([head, ['---', *('---:' for _ in head[1:])], *body])}\n{markdown_text(outcome.remark)}\n"


def as_html(table: GridValues, outcome: Outcome, notes: Notes) -> str:
    """Return the notes, the choices and the remark as HTML; all text is escaped."""
    head, *rows = _lines(table, outcome, _rounded(table.measure))
    return html_notes(notes) + html_table(head, rows, outcome.remark)


def as_csv(table: GridValues, outcome: Outcome) -> str:
    """Return CSV with full precision."""
    lines = [["" if cell == "-" else cell for cell in line] for line in _lines(table, outcome, repr)]
    return csv_text([[spreadsheet_safe(name), *cells] for name, *cells in lines])


RENDERERS: dict[str, Callable[[GridValues, Outcome], str]] = {"table": as_text, "markdown": as_markdown, "csv": as_csv}
"""Output formats by name."""


def _lines(table: GridValues, outcome: Outcome, shown: Callable[[float], str]) -> list[list[str]]:
    """Return a head, a line for each choice and a line for the result; ``-`` marks empty cells."""
    axes = list(table.settings[0])
    lines = [["chosen on", *axes, "queries", table.measure, "test queries", f"test {table.measure}"]]
    for choice in outcome.choices:
        lines.append([printable(choice.name), *(str(table.settings[choice.setting][axis]) for axis in axes)])
        for query_ids in (choice.chosen_on, choice.tested_on):
            value = _value(table, choice, query_ids)
            lines[-1] += ["-", "-"] if value is None else [str(len(query_ids)), shown(value)]
    if outcome.name != "all":
        setting = ["-" if outcome.setting is None else shown_value(outcome.setting[axis]) for axis in axes]
        tested = [str(len(outcome.setting_of)), shown(outcome.value)]
        lines.append([outcome.name, *setting, *(["-", "-", *tested] if outcome.held_out else [*tested, "-", "-"])])
    return lines


def _value(table: GridValues, choice: Choice, query_ids: Sequence[str]) -> float | None:
    value = table.figure(choice.setting, query_ids)
    return None if math.isnan(value) else value


def _rounded(measure: str) -> Callable[[float], str]:
    return (lambda value: str(round(value))) if is_count(measure) else "{:.4f}".format
