"""Plots of a result: published beside obtained figures, and differences by query from the baseline row.

Figures are a dot for each row and measure, or lines over x. Published figures are hollow, obtained figures filled.
An obtained figure that is not comparable is a grey square without a line to the published figure.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from longrank.evaluation.canvas import blank_figure, blank_panel, drawing
from longrank.evaluation.significance import differences
from longrank.reproduction.results import Result, ResultRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Panel
    from matplotlib.figure import Figure

INK, GRID = "#24292f", "#d0d7de"
"""Colours that an HTML page replaces by its own."""

_PUBLISHED, _OBTAINED, _BETTER, _WORSE = "#b8860b", "#1f78d1", "#2a9d5c", "#d1495b"
_OTHER, _INCOMPARABLE = "#8c959f", "not comparable here"
_SERIES = ("#1f78d1", "#d1495b", "#2a9d5c", "#b8860b", "#8e5bd1", "#17a2a2", "#c2548f", "#7a7a7a")
_ACROSS = 4  # panels in a row
_MOST_QUERIES = 400  # strokes of a row; of more queries, a sample of all sizes
_LONGEST = 34  # characters of a row's name


def plots_of(result: Result) -> dict[str, str]:
    """Return name -> SVG; a plot that would be empty is left out.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    with _style():
        figures = {"figures": _figures(result), "queries": _by_query(result)}
        return {name: _svg(figure) for name, figure in figures.items() if figure is not None}


def in_page(svg: str, label: str) -> str:
    """Return an SVG for an HTML page, in the page's colours ``--ink`` and ``--grid``."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'<g id="[^"]*"', "<g", body)  # ids must be unique in a page
    body = body.replace(INK, "var(--ink)").replace(GRID, "var(--grid)")
    return body.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)


@contextmanager
def _style() -> Iterator[None]:
    with drawing(), warnings.catch_warnings():
        import matplotlib as mpl

        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the reader's font may have it
        inks = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
        plain = {"svg.fonttype": "none", "text.parse_math": False, "axes.spines.right": False, "grid.color": GRID}
        style: Any = {**dict.fromkeys(inks, INK), **plain}
        with mpl.rc_context(style):
            yield


def _svg(figure: Figure) -> str:
    stream = io.StringIO()
    figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    return stream.getvalue()


def _figures(result: Result) -> Figure | None:
    lines = [line for line in result.lines if line.published or line.obtained]
    columns = [c for c in result.recipe.columns if any(c in line.published or c in line.obtained for line in lines)]
    if not columns:
        return None
    placed = [line for line in lines if line.row is not None and line.row.x is not None]
    if result.recipe.plot != "lines" or not placed:
        return _dots(columns, lines)
    return _over_x(columns, placed, [line for line in lines if line not in placed])


def _dots(columns: Sequence[str], lines: Sequence[ResultRow]) -> Figure:
    """Draw a panel for each measure, with a line for each row."""
    across = min(_ACROSS, len(columns))
    down = math.ceil(len(columns) / across)
    figure = blank_figure(1.6 + 2.1 * across, down * (0.7 + 0.2 * len(lines)) + 0.3)
    panels = figure.subplots(down, across, sharey=True, squeeze=False).flatten()
    for panel, column in zip(panels, columns, strict=False):
        _dot_panel(panel, column, lines)
    for panel in panels[len(columns) :]:
        panel.set_axis_off()
    panels[0].set_ylim(len(lines) - 0.4, -0.6)
    panels[0].set_yticks(range(len(lines)), [_short(line.name) for line in lines])
    _legend(figure, panels[: len(columns)])
    return figure


def _dot_panel(panel: Panel, column: str, lines: Sequence[ResultRow]) -> None:
    for y, line in enumerate(lines):
        if column in line.published and column in line.obtained and not _differs(line, column):
            panel.plot([line.published[column], line.obtained[column]], [y, y], "-", color=GRID, lw=2, zorder=1)
    kinds: list[tuple[list[float | None], dict[str, Any]]] = [
        (
            [line.published.get(column) for line in lines],
            {"ms": 8, "mfc": "none", "mec": _PUBLISHED, "label": "published"},
        ),
        (
            [None if _differs(line, column) else line.obtained.get(column) for line in lines],
            {"ms": 4.5, "mfc": _OBTAINED, "mec": "none", "label": "obtained"},
        ),
        (
            [line.obtained.get(column) if _differs(line, column) else None for line in lines],
            {"marker": "s", "ms": 4.5, "mfc": _OTHER, "mec": "none", "label": "obtained, not comparable"},
        ),
    ]
    for values, style in kinds:
        there = [(value, y) for y, value in enumerate(values) if value is not None]
        if there:
            panel.plot(*zip(*there, strict=True), **{"marker": "o", "ls": "none", **style})
    panel.margins(x=0.08)
    panel.set_title(column)
    panel.grid(axis="both", lw=0.5)
    panel.tick_params(left=False)
    panel.locator_params(axis="x", nbins=3)


def _differs(line: ResultRow, column: str) -> bool:
    """Tell whether an obtained figure is not comparable to the published figure."""
    return line.verdicts.get(column) == _INCOMPARABLE


def _over_x(columns: Sequence[str], lines: Sequence[ResultRow], level: Sequence[ResultRow]) -> Figure:
    """Draw a panel for each measure, with a line for each series; the first three rows without x are levels."""
    across = min(2, len(columns))
    figure = blank_figure(4.2 * across, 3.2 * math.ceil(len(columns) / across) + 0.3)
    panels = figure.subplots(math.ceil(len(columns) / across), across, squeeze=False).flatten()
    series = list(dict.fromkeys(line.row.series or "" for line in lines if line.row))
    for panel, column in zip(panels, columns, strict=False):
        for name, color in zip(series, _SERIES * len(series), strict=False):
            own = [line for line in lines if line.row and (line.row.series or "") == name]
            _curve(panel, column, own, color, name)
        for line, style in zip(level, ("-.", "--", ":"), strict=False):
            if column in line.obtained:
                panel.axhline(
                    line.obtained[column], ls=style, color=INK, lw=0.9, label=f"{_short(line.name)}, obtained"
                )
        panel.set_title(column)
        panel.grid(lw=0.5)
    for panel in panels[len(columns) :]:
        panel.set_axis_off()
    _legend(figure, panels[: len(columns)])
    return figure


def _curve(panel: Panel, column: str, lines: Sequence[ResultRow], color: str, name: str) -> None:
    kinds: list[tuple[list[Mapping[str, float]], dict[str, Any], str]] = [
        ([line.published for line in lines], {"ls": ":", "mfc": "none"}, "published"),
        ([line.obtained for line in lines], {"ls": "-"}, "obtained"),
    ]
    for figures, style, kind in kinds:
        there = [(line.row.x, f[column]) for line, f in zip(lines, figures, strict=True) if line.row and column in f]
        if there:
            apart = kind == "obtained" and any(_differs(line, column) for line in lines)
            said = f"{kind}, not comparable" if apart else kind
            label = f"{name}, {said}" if name else said
            marker = "s" if apart else "o"
            panel.plot(*zip(*sorted(there), strict=True), marker=marker, ms=4, color=color, label=label, **style)


def _by_query(result: Result) -> Figure | None:
    """Draw a stroke for each query of each row: its difference from the baseline row."""
    rows = {line.name: line.row.per_query for line in result.lines if line.row is not None and line.row.per_query}
    test = result.recipe.significance
    baseline = next((name for name in rows if test is not None and name == test.baseline), next(iter(rows), None))
    paired = test if test and not isinstance(test.compare_with, str) else None
    bases = {name: paired.baseline_of(name) if paired else baseline for name in rows}
    compared = [name for name, base in bases.items() if base in rows and base != name]
    if not compared or (test is None and result.recipe.plot == "lines"):
        return None
    measure = result.recipe.measures[0]
    figure, panel = blank_panel(8, 0.9 + 0.28 * len(compared))
    for y, name in enumerate(compared):
        _strokes(panel, y, differences(rows[name][measure], rows[str(bases[name])][measure]))
    panel.axvline(0, color=INK, lw=0.8)
    panel.set_ylim(len(compared) - 0.4, -0.6)
    panel.set_yticks(range(len(compared)), [_short(name) for name in compared])
    against = {str(bases[name]) for name in compared}
    against_all = _short(against.pop()) if len(against) == 1 else test.baseline if test else ""
    panel.set_title(f"{measure} of each query, less that of {against_all}")
    panel.tick_params(left=False)
    _legend(figure, [panel])
    return figure


def _strokes(panel: Panel, y: int, d: np.ndarray) -> None:
    """Draw the differences of a row; a sample of all sizes if there are very many."""
    shown = np.sort(d)
    if len(shown) > _MOST_QUERIES:
        shown = shown[np.linspace(0, len(shown) - 1, _MOST_QUERIES).astype(int)]
    for part, color in ((shown[shown < 0], _WORSE), (shown[shown > 0], _BETTER)):
        x = np.repeat(part, 3)
        height = np.tile([y - 0.32, y + 0.32, np.nan], len(part))
        panel.plot(x, height, "-", color=color, lw=1, alpha=0.6)
    panel.plot(d.mean(), y, "D", ms=5, mfc=INK, mec="none", label="mean")
    better, worse = int((d > 0).sum()), int((d < 0).sum())
    text = f"{better} better, {worse} worse, {len(d) - better - worse} equal"
    panel.annotate(text, (1.01, y), xycoords=("axes fraction", "data"), va="center", fontsize=8)


def _legend(figure: Figure, panels: Iterable[Panel]) -> None:
    pairs = [panel.get_legend_handles_labels() for panel in panels]
    named: dict[str, Any] = {
        label: handle for handles, labels in pairs for handle, label in zip(handles, labels, strict=True)
    }
    if named:
        columns = max(1, min(4, int(figure.get_figwidth() // (0.5 + 0.085 * max(map(len, named))))))
        figure.legend(list(named.values()), list(named), loc="outside lower center", ncols=columns, frameon=False)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
