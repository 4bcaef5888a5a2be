"""Plots of a grid of settings.

A plot grows with the grid up to 24 cells each way; cells of larger grids are smaller, so every grid can be drawn.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from longrank.evaluation.canvas import blank_panel, drawing, saved
from longrank.evaluation.tuning.grids import Axes, Number, Setting, shown_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Panel
    from matplotlib.figure import Figure

_MOST_CELLS = 24  # each way with full size and a tick
_MOST_NUMBERS = 150  # cells with a written figure
_MOST_DOTS = 200  # values of a line with a dot
_COARSE = 0.02  # figures with a smaller range have one more digit
_MARK = "#e4002b"
_OPTIMUM = "optimum over the table's queries"
_SHAPES = "oD"  # of the first and the second kind of mark

_Marks: TypeAlias = Mapping[str, Sequence[Setting]]


def plot_grid(  # noqa: PLR0917
    stem: Path,
    measure: str,
    axes: Axes,
    figures: Sequence[float],
    marks: _Marks,
    kinds: Sequence[str] = ("png", "svg"),
) -> list[Path]:
    """Draw the figures of a grid: a heat map for every pair of axes, a line if there is one axis.

    With more than two axes, a cell has the best figure over the axes that are not shown. Axes of a single value are
    left out.

    Args:
        stem: the files are ``STEM.png`` and ``STEM.svg``, or ``STEM-A-B.*`` for several pairs.
        measure: name of the figures.
        axes: the grid.
        figures: the figure of every setting, in the order of the grid.
        marks: label -> settings to mark, larger if several coincide; they may lie off the grid. At most two labels.
        kinds: kinds of files: png, svg, pdf.

    Returns:
        The paths; none if no axis has two values.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    cube = np.array(figures).reshape([len(values) for values in axes.values()])
    shown = [name for name, values in axes.items() if len(values) > 1]
    views: list[tuple[str, ...]] = [*combinations(shown, 2)] or [(name,) for name in shown]
    written = []
    with drawing():
        for view in views:
            name = stem.name if len(views) == 1 else f"{stem.name}-{'-'.join(view)}"
            others = tuple(place for place, name in enumerate(axes) if name not in view)
            hidden = ", ".join(axis for axis in shown if axis not in view)
            title = f"{measure}, best over {hidden}" if hidden else measure
            values = cube.max(axis=others)
            draw = _heat_map if len(view) == 2 else _line
            figure = draw(title, {axis: axes[axis] for axis in view}, values, marks)
            written += saved(figure, stem.with_name(name), kinds)
    return written


def _heat_map(title: str, axes: Axes, values: NDArray[np.float64], marks: _Marks) -> Figure:
    from matplotlib.patches import Rectangle

    (down, rows), (across, columns) = axes.items()
    figure, panel = blank_panel(2.6 + 0.55 * min(len(columns), _MOST_CELLS), 1.9 + 0.42 * min(len(rows), _MOST_CELLS))
    image = panel.imshow(values, cmap="viridis", origin="lower", aspect="auto")
    figure.colorbar(image, ax=panel)
    panel.set_title(title)
    if values.size <= _MOST_NUMBERS and max(values.shape) <= _MOST_CELLS:
        _write_figures(panel, values, above=0.24 if marks else 0.0)
    row, column = np.unravel_index(np.argmax(values), values.shape)
    cell = Rectangle((column - 0.48, row - 0.47), 0.96, 0.94, fill=False, ec=_MARK, lw=2, label=_OPTIMUM)
    panel.add_patch(cell)
    for (label, places), shape in zip(_counted(marks, axes).items(), _SHAPES, strict=False):
        for (y, x), count in places.items():
            panel.plot(x, y, shape, ms=_size(count), mfc=_MARK, mec="white", label=label)
    panel.set_xticks(*_ticks(columns))
    panel.set_yticks(*_ticks(rows))
    _label(figure, panel, across, down)
    return figure


def _ticks(values: Sequence[Number]) -> tuple[range, list[str]]:
    """Return places and labels of every value, or of every second, third, ... of many values."""
    places = range(0, len(values), math.ceil(len(values) / _MOST_CELLS))
    return places, [shown_value(values[place]) for place in places]


def _line(title: str, axes: Axes, values: NDArray[np.float64], marks: _Marks) -> Figure:
    ((across, columns),) = axes.items()
    figure, panel = blank_panel(5, 3.4)
    places = range(len(columns))
    panel.plot(columns, values, "-o" if len(columns) <= _MOST_DOTS else "-", color="#30638e", ms=3, label=title)
    best = int(np.argmax(values))
    panel.plot(columns[best], values[best], "s", ms=12, mfc="none", mec=_MARK, mew=2, label=_OPTIMUM)
    for (label, counted), shape in zip(_counted(marks, axes).items(), _SHAPES, strict=False):
        for (x,), count in counted.items():
            value, height = np.interp(x, places, columns), np.interp(x, places, values)
            panel.plot(value, height, shape, ms=_size(count), mfc=_MARK, mec="white", label=label)
    panel.grid(alpha=0.3)
    _label(figure, panel, across, title)
    return figure


def _write_figures(panel: Panel, values: NDArray[np.float64], above: float) -> None:
    """Write the figure of each cell `above` its middle, where no dot covers it."""
    middle = (values.min() + values.max()) / 2
    digits = 3 if np.ptp(values) >= _COARSE else 4
    for (row, column), value in np.ndenumerate(values):
        ink = "white" if value < middle else "black"
        text = f"{value:.{digits}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.4g}"
        panel.text(column, row + above, text, ha="center", va="center", fontsize=7, color=ink)


def _size(count: int) -> float:
    return 4 + 3 * math.sqrt(count)


def _counted(marks: _Marks, axes: Axes) -> dict[str, Counter[tuple[float, ...]]]:
    """Return label -> place -> number of marks on it; a place counts values along each axis from 0."""

    def place(setting: Setting) -> tuple[float, ...]:
        return tuple(float(np.interp(setting[name], values, range(len(values)))) for name, values in axes.items())

    return {label: Counter(map(place, settings)) for label, settings in marks.items()}


def _label(figure: Figure, panel: Panel, across: str, down: str) -> None:
    panel.set_xlabel(across)
    panel.set_ylabel(down)
    named = dict(zip(*reversed(panel.get_legend_handles_labels()), strict=True))  # one entry for equal labels
    figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=1, frameon=False)
