"""The fit of costs to measurements."""

from __future__ import annotations

import pytest
from benchmarks.cost_model import Cost, Line, fit, fitted, machines


def test_costs_on_a_line_are_fitted_exactly() -> None:
    line = fitted([1e6, 3e6, 9e6], [2 + 0.5, 2 + 1.5, 2 + 4.5])
    assert line.at(20e6) == pytest.approx(12)


def test_large_and_small_costs_count_by_their_relative_errors() -> None:
    a, b = fitted([1.0, 100.0], [1.0, 100.0])
    assert (a, b) == (pytest.approx(0, abs=1e-9), pytest.approx(1))


def test_no_part_of_a_cost_is_below_zero() -> None:
    assert fitted([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]).b == 0
    assert fitted([1.0, 2.0, 3.0], [1.0, 4.0, 9.0]).a == 0


def test_a_bounded_cost_is_that_of_the_largest_size() -> None:
    memory = Cost("memory", "MiB", lambda report: report["mib"], bounded=True)
    assert fit(memory, [1.0, 2.0], [{"mib": 300.0}, {"mib": 480.0}]) == Line(480.0, 0.0)


def test_machines_share_the_words_and_each_bears_the_constant() -> None:
    assert machines(Line(1, 2), words=100, limit=51) == 4
    assert machines(Line(1, 2), words=10, limit=51) == 1
