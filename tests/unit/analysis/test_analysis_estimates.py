"""Means over queries, and their confidence intervals."""

from __future__ import annotations

import numpy as np
import pytest

from longrank.analysis.estimates import by_query, estimates, thirds


def test_a_query_counts_once_however_many_documents_it_has() -> None:
    values = by_query([{"a": 1, "b": 2}, {"a": 0}, {"a": 1}], ["q", "q", "r"], ["a", "b"])
    np.testing.assert_array_equal(values, [[0.5, 2], [1, np.nan]])
    a, b = estimates(values)
    assert a is not None and (a.mean, a.queries) == (0.75, 2)
    assert b is not None and (b.mean, b.low, b.high, b.queries) == (2, 2, 2, 1)


def test_the_interval_of_two_queries_is_by_hand() -> None:
    (found,) = estimates(np.array([[0.0], [1.0]]))  # means 0, .5, 1 with chances 1/4, 1/2, 1/4
    assert found is not None and (found.mean, found.low, found.high) == (0.5, 0, 1)


def test_the_interval_of_many_queries_is_that_of_the_normal_approximation() -> None:
    values = np.repeat([0.0, 1.0], [300, 700])[:, None]
    (found,) = estimates(values)
    assert found is not None
    half = 1.96 * np.sqrt(0.3 * 0.7 / 1000)
    assert (found.low, found.high) == pytest.approx((0.7 - half, 0.7 + half), abs=0.004)


def test_equal_seeds_give_equal_intervals_and_others_do_not() -> None:
    values = np.arange(50.0)[:, None]
    assert estimates(values) == estimates(values) != estimates(values, seed=1)


def test_nothing_has_no_estimate() -> None:
    assert estimates(np.empty((0, 2))) == [None, None]
    assert estimates(np.array([[np.nan, 1.0]]))[0] is None


def test_thirds_have_equal_numbers_and_equal_values_stay_together() -> None:
    assert thirds([6, 1, 2, 3, 5, 4]).tolist() == [2, 0, 0, 1, 2, 1]
    assert thirds([7, 7, 7]).tolist() == [0, 0, 0]
