"""Draw analyses as .svg, .png or .pdf files, by the extra ``plots``; a function for each kind of result.

All functions raise `MissingExtra` if matplotlib is not installed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from longrank.analysis.distribution import Distribution, shares
from longrank.evaluation.canvas import blank_figure, drawing, plain, saved_as
from longrank.evaluation.difference_plots import draw_differences

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Panel

_BLUE, _RED, _GREY = "#30638e", "#e4002b", "#8a8d91"
_MARKS = "os^Dv<>*"
_HIGH = 3.4
"""Height of a panel in inches."""


@contextmanager
def _panels(path: Path, n: int, width: float = 5.0, height: float = _HIGH) -> Iterator[Sequence[Panel]]:
    """Yield `n` panels side by side, and write them when the block ends."""
    with drawing():
        figure = blank_figure(width * n, height)
        panels = figure.subplots(1, n, squeeze=False)[0].tolist()
        for panel in panels:
            panel.spines["right"].set_visible(False)
        yield panels
        saved_as(figure, path)


def plot_distributions(path: Path, distributions: Mapping[str, Distribution], units: Mapping[str, str]) -> None:
    """Draw a histogram for each distribution, by name, with mean and median; `units` names the values counted."""
    with _panels(path, len(distributions), 4.0) as panels:
        for panel, (name, lengths) in zip(panels, distributions.items(), strict=True):
            width = (lengths.histogram[0].end or lengths.histogram[0].start + 1) - lengths.histogram[0].start
            bars = panel.bar(
                [b.start for b in lengths.histogram], [b.n for b in lengths.histogram], width, align="edge"
            )
            for bar in bars:
                bar.set(facecolor=_BLUE, edgecolor="white", linewidth=0.5)
            if lengths.histogram[-1].end is None:
                bars[-1].set_facecolor(_GREY)
                place = lengths.histogram[-1].start + width / 2, lengths.histogram[-1].n
                panel.annotate(f"up to {lengths.max:,}", place, ha="right", va="bottom", fontsize=7, color=_GREY)
            for value, style, label in ((lengths.percentiles[50], "-", "median"), (lengths.mean, "--", "mean")):
                panel.axvline(value, color=_RED, ls=style, lw=1.2, label=f"{label} {value:,.1f}")
            panel.set(xlabel=name, ylabel=units[name])
            panel.locator_params(integer=True)
            panel.legend(frameon=False)


def plot_counts(path: Path, counts: Mapping[int, int], *, title: str, across: str, most: int = 20) -> None:
    """Draw each count's share of all; counts from `most` on are a single bar."""
    top = min(most, max(counts))
    heights = shares([sum(n for value, n in counts.items() if min(value, top) == place) for place in range(1, top + 1)])
    with _panels(path, 1) as (panel,):
        bars = panel.bar(range(1, top + 1), heights, 0.85, color=_BLUE)
        panel.bar_label(bars, [f"{height:.0%}" if height >= 0.005 else "" for height in heights], fontsize=7)
        labels = [str(place) if place < max(counts) and place < most else f"{place}+" for place in range(1, top + 1)]
        labels[-1] = f"{top}+" if max(counts) > top else str(top)
        panel.set_xticks(range(1, top + 1), labels, fontsize=7)
        panel.set(title=title, xlabel=across, ylabel="share")


def plot_tenths(path: Path, groups: Mapping[str, Sequence[float]]) -> None:
    """Draw the share of the best passages in each tenth of their documents, by group; dotted: uniform positions."""
    with _panels(path, 1) as (panel,):
        for (name, tenths), mark in zip(groups.items(), cycle(_MARKS), strict=False):
            panel.plot(range(1, len(tenths) + 1), tenths, f"-{mark}", ms=4, label=plain(name))
            panel.axhline(1 / len(tenths), color=_GREY, ls=":", lw=1)
            panel.set_xticks(range(1, len(tenths) + 1))
        panel.set(
            title="Where the best passage stands", xlabel="tenth of the document", ylabel="share of best passages"
        )
        panel.set_ylim(bottom=0)
        if groups:
            panel.legend(frameon=False)


def plot_lines(path: Path, measures: Mapping[str, Mapping[str, Mapping[int, float]]], across: str) -> None:
    """Draw a panel for each measure: name -> (x -> value), a line for each name."""
    with _panels(path, len(measures)) as panels:
        for panel, (measure, lines) in zip(panels, measures.items(), strict=True):
            for (name, line), mark in zip(lines.items(), cycle(_MARKS), strict=False):
                panel.plot(list(line), list(line.values()), f"-{mark}", ms=4, label=plain(name))
            panel.set_xticks(sorted({x for line in lines.values() for x in line}))
            panel.tick_params("x", labelsize=7)
            panel.set(title=measure, xlabel=across, ylabel=measure)
            panel.grid(alpha=0.3)
            panel.legend(frameon=False)


def plot_costs(path: Path, costs: Mapping[str, tuple[float, float]], title: str) -> None:
    """Draw milliseconds per document by 1e9 operations per document, a point for each size of an encoder."""
    with _panels(path, 1) as (panel,):
        for n, (name, point) in enumerate(sorted(costs.items(), key=itemgetter(1))):
            panel.plot(*point, "o", color=_BLUE, ms=5)
            place, side = ((6, -8), "left") if n % 2 else ((-6, 4), "right")  # keeps the names of neighbours apart
            panel.annotate(plain(name), point, place, textcoords="offset points", ha=side, fontsize=7)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.margins(0.2)
        panel.set(title=title, xlabel="billion operations per document", ylabel="milliseconds")


def plot_deltas(path: Path, values: Sequence[float], title: str) -> None:
    """Draw a bar for each query's difference, in this order."""
    with _panels(path, 1, width=7.0) as (panel,):
        draw_differences(panel, values, title)


def plot_matrices(path: Path, names: Sequence[str], matrices: Mapping[str, Any]) -> None:
    """Draw a map for each matrix of runs by runs, float64[n, n] with NaN for missing values."""
    size = 1.9 + 0.55 * len(names)
    with _panels(path, len(matrices), size + 0.6, size) as panels:
        for panel, (measure, matrix) in zip(panels, matrices.items(), strict=True):
            panel.imshow(matrix, cmap="Blues", vmin=0, vmax=1)
            for (row, column), value in np.ndenumerate(matrix):
                ink = "white" if value > 0.6 else "black"
                panel.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=7, color=ink)
            panel.set_xticks(range(len(names)), [*map(plain, names)], rotation=45, ha="right")
            panel.set_yticks(range(len(names)), [*map(plain, names)])
            panel.set_title(measure)
