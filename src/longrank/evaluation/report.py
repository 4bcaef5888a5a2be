"""Tables of measured systems, compared with a baseline if there is one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from longrank.config import lookup, suggestion
from longrank.errors import InputError
from longrank.evaluation.measures import PerQuery, is_count, parse_measure, summarise
from longrank.evaluation.significance import TESTS, Differences, corrected, differences
from longrank.types import Notes
from longrank.types.frames import pandas

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Comparison:
    """Difference between a system and the baseline in one measure.

    Attributes:
        delta: mean difference, system - baseline, over all queries of either.
        p: two-sided p of the test; None for fewer than two queries.
        p_corrected: p after the correction; equal to `p` without a correction.
        significant: `p_corrected` is below the table's threshold.
    """

    delta: float
    p: float | None
    p_corrected: float | None
    significant: bool


@dataclass(frozen=True, slots=True)
class SystemRow:
    """Figures of a system for every measure of the table, and their differences from the baseline.

    Comparisons are None for the baseline, for counts, and in a table without a baseline.
    """

    name: str
    queries: int
    values: tuple[float, ...]
    comparisons: tuple[Comparison | None, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation:
    """Figures of systems by measures; ``result["nDCG@10"]``, or ``result["bm25", "nDCG@10"]`` of several systems.

    Attributes:
        measures: the columns.
        rows: the systems, in the order given.
        baseline: the name of the row that other rows are compared with, or None.
        test: ``"t"`` or ``"randomization"``.
        correction: ``"bonferroni"``, ``"holm"`` or None.
        comparisons: number of tests: systems other than the baseline, times measures other than counts.
        threshold: p below which a difference is significant.
        per_query: system -> measure -> query_id -> value.
        notes: remarks on the inputs, such as topics that a run lacks.
    """

    measures: tuple[str, ...]
    rows: tuple[SystemRow, ...]
    baseline: str | None
    test: str
    correction: str | None
    comparisons: int
    threshold: float
    per_query: Mapping[str, PerQuery] = field(default_factory=dict)
    notes: Notes = field(default_factory=Notes)

    def __getitem__(self, key: str | tuple[str, str]) -> float:
        """Return the figure of a measure, or of a (system, measure) pair.

        Raises:
            InputError: no such system or measure, or a measure alone where there are several systems.
        """
        if isinstance(key, tuple):
            name, measure = key
        elif len(self.rows) == 1:
            name, measure = self.rows[0].name, key
        else:
            raise InputError(f"{len(self.rows)} systems were measured", got=key, fix="give (system, measure)")
        figures = {row.name: row.values for row in self.rows}
        measure = measure if measure in self.measures else str(parse_measure(measure))
        if name not in figures or measure not in self.measures:
            unknown, known = (name, list(figures)) if name not in figures else (measure, self.measures)
            raise InputError("is not in this evaluation", got=unknown, fix=suggestion(unknown, known))
        return figures[name][self.measures.index(measure)]

    def to_frame(self) -> pd.DataFrame:
        """Return the figures as a pandas DataFrame: a row for each system, a column for each measure.

        Raises:
            InputError: pandas is not installed.
        """
        names = [row.name for row in self.rows]
        return pandas().DataFrame([row.values for row in self.rows], index=names, columns=list(self.measures))

    def __repr__(self) -> str:
        from longrank.evaluation.render import as_text, with_notes

        return with_notes(self.notes, as_text(self))

    def _repr_html_(self) -> str:
        from longrank.evaluation.render import as_html

        return as_html(self)

    def best(self, column: int) -> float | None:
        """Return the highest value of a column; None for counts and if all values are equal."""
        values = {row.values[column] for row in self.rows}
        return None if len(values) < 2 or is_count(self.measures[column]) else max(values)


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
        InputError: no such baseline, or a threshold out of range.
    """
    if baseline is not None and baseline not in results:
        raise InputError("the baseline is not among the systems", got=baseline)
    if not 0 < threshold < 1:
        raise InputError("the significance threshold must be between 0 and 1", got=threshold)
    measures = tuple(next(iter(results.values()))) if results else ()
    deltas = _deltas(results, baseline, measures)
    p_values = [lookup(TESTS, test, "test")(delta) for delta in deltas.values()]
    adjusted = corrected(p_values, correction, len(deltas))
    comparisons = {
        pair: Comparison(float(delta.mean()), p, p_corrected, p_corrected is not None and p_corrected < threshold)
        for (pair, delta), p, p_corrected in zip(deltas.items(), p_values, adjusted, strict=True)
    }
    rows = tuple(_row(name, per_query, comparisons) for name, per_query in results.items())
    return Evaluation(
        measures, rows, baseline, test, correction, len(deltas), threshold, results, Notes() if notes is None else notes
    )


def _deltas(
    results: Mapping[str, PerQuery], baseline: str | None, measures: tuple[str, ...]
) -> dict[tuple[str, str], Differences]:
    """Return the per-query differences of every (system, measure) pair to test."""
    if baseline is None:
        return {}
    return {
        (name, measure): differences(per_query[measure], results[baseline][measure])
        for name, per_query in results.items()
        for measure in measures
        if name != baseline and not is_count(measure)
    }


def _row(name: str, per_query: PerQuery, comparisons: Mapping[tuple[str, str], Comparison]) -> SystemRow:
    return SystemRow(
        name,
        queries=max((len(values) for values in per_query.values()), default=0),
        values=tuple(summarise(measure, values.values()) for measure, values in per_query.items()),
        comparisons=tuple(comparisons.get((name, measure)) for measure in per_query),
    )
