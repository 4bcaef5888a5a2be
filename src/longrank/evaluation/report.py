"""Evaluations of systems, compared with a baseline if there is one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from longrank.errors import InputError
from longrank.evaluation.figures import Comparison, Figures, SystemRow
from longrank.evaluation.measures import PerQuery, is_count, summarise
from longrank.evaluation.render import as_html, as_text, with_notes
from longrank.evaluation.significance import TESTS, Differences, corrected, differences
from longrank.registries import lookup
from longrank.types import Notes
from longrank.types.frames import pandas

if TYPE_CHECKING:
    import pandas as pd


class Evaluation(Figures):
    """Figures that show themselves as text, as HTML in a notebook, and as a table of pandas."""

    __slots__ = ()

    def to_frame(self) -> pd.DataFrame:
        """Return the figures as a pandas DataFrame: a row for each system, a column for each measure.

        Raises:
            InputError: pandas is not installed.
        """
        names = [row.name for row in self.rows]
        return pandas().DataFrame([row.values for row in self.rows], index=names, columns=list(self.measures))

    def draw(self, path: str | Path) -> None:
        """Draw the per-query differences from the baseline into a .png, .svg or .pdf file.

        Raises:
            InputError: no baseline, nothing to compare with it, or another kind of file.
            MissingExtra: matplotlib is not installed.
        """
        from longrank.evaluation.difference_plots import plot_differences

        plot_differences(Path(path), self)

    def __repr__(self) -> str:
        return with_notes(self.notes, as_text(self))

    def _repr_html_(self) -> str:
        return as_html(self)


def compare(
    results: Mapping[str, PerQuery],
    *,
    baseline: str | None = None,
    test: str = "t",
    correction: str | None = None,
    threshold: float = 0.05,
    notes: Notes | None = None,
) -> Evaluation:
    """Return the table of several systems' results.

    Args:
        results: system -> measure -> query_id -> value; all systems have the same measures.
        baseline: the system to compare with, if any.
        test: a name of `significance.TESTS`.
        correction: a name of `significance.CORRECTIONS`, or None.
        threshold: p below which a difference is marked, between 0 and 1.
        notes: kept with the table.

    Raises:
        InputError: no such baseline, a system without a query of the baseline, or a threshold out of range.
    """
    notes = Notes() if notes is None else notes
    if baseline is not None and baseline not in results:
        raise InputError("the baseline is not among the systems", got=baseline)
    if not 0 < threshold < 1:
        raise InputError("the significance threshold must be between 0 and 1", got=threshold)
    measures = tuple(next(iter(results.values()))) if results else ()
    deltas = {} if baseline is None else _deltas(results, baseline, measures, notes)
    p_values = [lookup(TESTS, test, "test")(delta) for delta in deltas.values()]
    adjusted = corrected(p_values, correction, len(deltas))
    comparisons = {
        pair: Comparison(float(delta.mean()), p, p_corrected, p_corrected is not None and p_corrected < threshold)
        for (pair, delta), p, p_corrected in zip(deltas.items(), p_values, adjusted, strict=True)
    }
    rows = tuple(_row(name, per_query, comparisons) for name, per_query in results.items())
    return Evaluation(measures, rows, baseline, test, correction, len(deltas), threshold, results, notes)


def _deltas(
    results: Mapping[str, PerQuery], baseline: str, measures: tuple[str, ...], notes: Notes
) -> dict[tuple[str, str], Differences]:
    """Return the per-query differences of every (system, measure) pair to test; topics of one system are noted."""
    deltas, base = {}, results[baseline]
    tested = [measure for measure in measures if not is_count(measure)]
    for name, per_query in results.items():
        for measure in tested if name != baseline else ():
            deltas[name, measure] = differences(per_query[measure], base[measure])
            alone = len(per_query[measure].keys() ^ base[measure].keys())
            if not len(deltas[name, measure]):
                raise InputError(f"{name} has no topic in common with {baseline}", about=("runs", "baseline"))
            if alone and measure == tested[0]:
                notes.say(f"{alone} topics that only {name} or {baseline} has are left out where the two are compared")
    return deltas


def _row(name: str, per_query: PerQuery, comparisons: Mapping[tuple[str, str], Comparison]) -> SystemRow:
    return SystemRow(
        name,
        queries=max((len(values) for values in per_query.values()), default=0),
        values=tuple(summarise(measure, values.values()) for measure, values in per_query.items()),
        comparisons=tuple(comparisons.get((name, measure)) for measure in per_query),
    )
