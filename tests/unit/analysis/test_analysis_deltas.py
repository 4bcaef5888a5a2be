from __future__ import annotations

import math

import pytest

from longrank.analysis.deltas import Delta, deltas


def test_queries_are_sorted_by_what_the_run_wins() -> None:
    found = deltas({"a": 0.5, "b": 0.2, "c": 0.3, "d": 0.1 + 0.2}, {"a": 0.1, "c": 0.9, "d": 0.3, "e": 0.4})
    assert [row.query_id for row in found.rows] == ["a", "b", "d", "e", "c"]
    assert found.rows[1] == Delta("b", 0.2, 0.0, 0.2)  # the baseline lacks b, the run lacks e
    assert (found.wins, found.ties, found.losses) == (2, 1, 2)  # .1 + .2 is .3
    assert found.mean == pytest.approx((0.4 + 0.2 + 0 - 0.4 - 0.6) / 5)


def test_p_is_that_of_the_paired_t_test() -> None:
    """Differences 1, 2, 3: t = 2 / (1 / sqrt 3) with two degrees of freedom, whose p is 1 - t / sqrt(2 + t^2)."""
    found = deltas({"a": 1, "b": 2, "c": 3}, {})
    t = 2 * math.sqrt(3)
    assert found.p == pytest.approx(1 - t / math.sqrt(2 + t * t))


def test_one_query_has_no_p_and_equal_runs_tie() -> None:
    assert deltas({"a": 1.0}, {"a": 0.5}).p is None
    same = deltas({"b": 1.0, "a": 0.5}, {"a": 0.5, "b": 1.0})
    assert ([row.query_id for row in same.rows], same.ties, same.p) == (["a", "b"], 2, 1.0)
