"""Result of tuning: the chosen settings, their value, and the run that they give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from longrank.collections import read_run
from longrank.evaluation.canvas import check_plot
from longrank.evaluation.render import with_notes
from longrank.evaluation.tuning.folder import RUN
from longrank.evaluation.tuning.grids import Axes, Setting
from longrank.evaluation.tuning.report import as_html, as_json, as_text
from longrank.evaluation.tuning.values import GridValues, Outcome
from longrank.formats.folds import Fold
from longrank.types import Notes, Run


@dataclass(frozen=True, repr=False)
class Tuning:
    """The chosen settings, the value of every setting of the grid, and the run of the chosen settings.

    Attributes:
        axes: the grid.
        table: values of all settings and queries.
        outcome: choices, and the value that they reach.
        about: protocol and inputs, as the JSON file holds them.
        folds: folds that were made; None if they were given, or if there are none.
        source: the run, or the folder that holds it.
        notes: remarks on the inputs.
    """

    axes: Axes
    table: GridValues
    outcome: Outcome
    about: Mapping[str, Any]
    folds: Mapping[str, Fold] | None
    source: Run | Path
    notes: Notes = field(default_factory=Notes)

    @property
    def setting(self) -> Setting | None:
        """The chosen setting; None if every fold has its own: see `settings`."""
        return self.outcome.setting

    @property
    def settings(self) -> Mapping[str, Setting]:
        """The setting of each query that `value` is measured on: query_id -> setting."""
        return self.outcome.setting_of

    @property
    def value(self) -> float:
        """The figure of the chosen settings; see `outcome.held_out` for whether other queries chose them."""
        return self.outcome.value

    @cached_property
    def run(self) -> Run:
        """The run of the chosen settings."""
        return self.source if isinstance(self.source, Run) else read_run(self.source / RUN)

    def to_json(self) -> str:
        """Return the protocol, the result, the choices and the figure of every setting."""
        return as_json(self.table, self.outcome, self.about)

    def draw(self, folder: str | Path) -> list[Path]:
        """Draw the grid into a folder, and return the files: a heat map for every pair of axes, or a line.

        Raises:
            MissingExtra: matplotlib is not installed.
        """
        return self._draw(Path(folder) / "heatmap", ("png", "svg"))

    def plot(self, path: str | Path) -> list[Path]:
        """Draw the grid into a .png, .svg or .pdf file, of several pairs of axes into a file each, ``NAME-A-B.png``.

        Raises:
            InputError: another kind of file.
            MissingExtra: matplotlib is not installed.
        """
        path = Path(path)
        check_plot(path)
        return self._draw(path.with_suffix(""), (path.suffix[1:],))

    def _draw(self, stem: Path, kinds: Sequence[str]) -> list[Path]:
        from longrank.evaluation.plots import plot_grid

        marks, choices, setting = {}, self.outcome.choices, self.outcome.setting
        if len(choices) > 1:
            part = "sample" if setting else "fold"
            settings = [self.table.settings[choice.setting] for choice in choices]
            marks[f"optimum of a {part} (larger: of several)"] = settings
        if setting and self.outcome.name == "mean":
            marks["mean of the optima"] = [setting]
        figures = self.table.figures(self.table.query_ids)
        return plot_grid(stem, self.table.measure, self.axes, figures, marks, kinds)

    def __repr__(self) -> str:
        return with_notes(self.notes, as_text(self.table, self.outcome))

    def _repr_html_(self) -> str:
        return as_html(self.table, self.outcome, self.notes)
