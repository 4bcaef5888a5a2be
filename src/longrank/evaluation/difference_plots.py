"""Plots of differences between systems, query by query."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from longrank.errors import InputError
from longrank.evaluation.canvas import blank_figure, drawing, plain, saved_as
from longrank.evaluation.figures import Figures
from longrank.evaluation.measures import is_count
from longrank.evaluation.significance import differences

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Panel

_BLUE, _RED = "#30638e", "#e4002b"
_WIDE, _HIGH = 7.0, 3.0  # inches of a panel


def draw_differences(panel: Panel, values: Sequence[float], title: str) -> None:
    """Draw a bar for each query's difference, in this order: blue above 0, red below."""
    panel.stairs(np.maximum(values, 0), fill=True, color=_BLUE)  # a single shape for all queries
    panel.stairs(np.minimum(values, 0), fill=True, color=_RED)
    panel.axhline(0, color="black", lw=0.6)
    panel.set(title=plain(title), xlabel="queries, best for the run first", ylabel="difference")
    panel.set_xlim(0, len(values))


def plot_differences(path: Path, figures: Figures) -> None:
    """Draw the per-query differences of each system from the baseline: a row of panels a system, a column a measure.

    Args:
        path: a .png, .svg or .pdf file.
        figures: with a baseline, another system, and a measure that is no count.

    Raises:
        InputError: no baseline, nothing to compare with it, or another kind of file.
        MissingExtra: matplotlib is not installed.
    """
    systems = [row.name for row in figures.rows if row.name != figures.baseline]
    measures = [measure for measure in figures.measures if not is_count(measure)]
    if figures.baseline is None:
        raise InputError("a plot of differences needs a baseline", fix="name it with `baseline`")
    if not systems or not measures:
        lacking = "measures that are no counts" if systems else "a run besides the baseline"
        raise InputError(f"a plot of differences needs {lacking}")
    base = figures.per_query[figures.baseline]
    with drawing():
        figure = blank_figure(_WIDE * len(measures), _HIGH * len(systems))
        grid = figure.subplots(len(systems), len(measures), squeeze=False)
        for system, panels in zip(systems, grid, strict=True):
            for measure, panel in zip(measures, panels, strict=True):
                values = sorted(differences(figures.per_query[system][measure], base[measure]).tolist(), reverse=True)
                draw_differences(panel, values, f"{measure}: {system} less {figures.baseline}")
        saved_as(figure, path)
