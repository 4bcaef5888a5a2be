"""Figures of systems by measures, and their differences from a baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from longrank.errors import InputError
from longrank.evaluation.measures import PerQuery, is_count
from longrank.evaluation.names import parse_measure
from longrank.registries import suggestion
from longrank.types import Notes


@dataclass(frozen=True, slots=True)
class Comparison:
    """Difference between a system and the baseline in one measure.

    Attributes:
        delta: mean difference, system - baseline, over the queries of both.
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
class Figures:
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

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Iterate over the (system, measure) pairs."""
        return ((row.name, measure) for row in self.rows for measure in self.measures)

    def keys(self) -> tuple[tuple[str, str], ...]:
        """Return the (system, measure) pairs, so that ``dict(evaluation)`` has the figures."""
        return tuple(self)

    def __contains__(self, key: Any) -> bool:
        try:
            self[key]
        except InputError:
            return False
        return True

    def best(self, column: int) -> float | None:
        """Return the highest value of a column; None for counts and if all values are equal."""
        values = {row.values[column] for row in self.rows}
        return None if len(values) < 2 or is_count(self.measures[column]) else max(values)
