"""Plots of trainings: loss and validations by step, from their logs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from longrank.evaluation.canvas import blank_figure, drawing, plain, saved_as

_POINTS = 100  # means of the loss that a line has


def plot_training(path: Path, logs: Mapping[str, Path]) -> None:
    """Draw the loss and, if there were any, the validations of one or more trainings: a line for each.

    Args:
        path: a .png, .svg or .pdf file.
        logs: name of a training, such as a fold -> its ``log.jsonl``. A line of the loss has means of at most 100
            parts of equal length.

    Raises:
        InputError: another kind of file.
        MissingExtra: matplotlib is not installed.
    """
    rows = {
        name: [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] for name, log in logs.items()
    }
    losses = {name: _column(lines, "loss") for name, lines in rows.items()}
    measures = {name: _column(lines, "measure") for name, lines in rows.items()}
    views = {"loss": {name: _means(*values) for name, values in losses.items()}}
    if any(len(steps) for steps, _ in measures.values()):
        views["validation"] = measures
    with drawing():
        figure = blank_figure(5.0 * len(views), 3.4)
        panels = figure.subplots(1, len(views), squeeze=False)[0]
        for panel, (title, lines) in zip(panels, views.items(), strict=True):
            for name, (steps, values) in lines.items():
                panel.plot(steps, values, "-o", ms=3, label=plain(name))
            panel.set(title=title, xlabel="step")
            panel.grid(alpha=0.3)
            if len(lines) > 1:
                panel.legend(frameon=False)
        saved_as(figure, path)


def _column(lines: list[dict[str, float]], name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the steps and values of the lines that have a value of this name."""
    pairs = [(line["step"], line[name]) for line in lines if line.get(name) is not None]
    steps, values = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return steps, values


def _means(steps: NDArray[np.float64], values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the last steps and the means of at most `_POINTS` parts."""
    parts = max(1, min(_POINTS, len(values)))
    cut = [np.array_split(column, parts) for column in (steps, values)]
    return np.array([part[-1] for part in cut[0] if len(part)]), np.array([part.mean() for part in cut[1] if len(part)])
