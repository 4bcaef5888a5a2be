from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from longrank.errors import InputError
from longrank.ranking.bounds import Bound, Pairs, fit, held_out, may_stop, monotone, n_read


def names(n_docs: int) -> list[str]:
    return [f"d{n}" for n in range(n_docs)]


def pairs(n_queries: int, n_docs: int = 30, noise: float = 0.3, seed: int = 5) -> dict[str, Pairs]:
    """Queries whose expensive scores are twice the cheap ones and noise."""
    rng = np.random.default_rng(seed)
    made = {}
    for n in range(n_queries):
        cheap = np.sort(rng.random(n_docs))[::-1]
        made[f"q{n}"] = Pairs(cheap, 2 * cheap + noise * rng.standard_normal(n_docs), names(n_docs))
    return made


def test_the_walk_stops_where_the_bound_of_the_next_is_below_the_kth_best() -> None:
    assert not may_stop([3.0], 0.0, 2)
    assert may_stop([3.0, 1.0, 2.0], 1.9, 2)
    assert not may_stop([3.0, 1.0, 2.0], 2.0, 2)  # it could tie


def test_documents_are_read_k_at_a_time() -> None:
    one = Pairs(np.array([5.0, 4.0, 3.0, 2.0, 1.0]), np.array([9.0, 1.0, 8.0, 7.0, 0.0]), names(5))
    bound = Bound(np.array([0.0, 10.0]), np.array([0.0, 10.0]), 0.0)
    assert n_read(one, bound, 2) == 4  # after two, the bound 3 is not below 1; after four, 1 is below 8
    assert n_read(one, bound._replace(margin=7.1), 2) == 5
    assert n_read(one, bound, 7) == 5


def test_monotone_regression_pools_neighbours_that_fall() -> None:
    """1, 3, 2, 4: the two in the middle become their mean; equal x are averaged first."""
    x, y = monotone(np.array([4.0, 1.0, 2.0, 3.0]), np.array([4.0, 1.0, 3.0, 2.0]))
    assert (x.tolist(), y.tolist()) == ([1.0, 2.5, 4.0], [1.0, 2.5, 4.0])
    x, y = monotone(np.array([1.0, 1.0, 2.0]), np.array([0.0, 4.0, 3.0]))
    assert (x.tolist(), y.tolist()) == ([1.0, 2.0], [2.0, 3.0])


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-9, 9)), min_size=1, max_size=40))
def test_monotone_regression_rises_and_keeps_the_mean(points: list[tuple[int, int]]) -> None:
    given_x, given_y = (np.array(column, float) for column in zip(*points, strict=True))
    x, y = monotone(given_x, given_y)
    assert (np.diff(x) > 0).all()
    assert (np.diff(y) > 0).all()
    assert given_y.min() - 1e-9 <= y[0] <= given_y.mean() + 1e-9


def test_monotone_regression_is_that_of_scipy() -> None:
    isotonic = getattr(scipy.optimize, "isotonic_regression", None)
    if isotonic is None:
        pytest.skip("needs SciPy 1.12")
    rng = np.random.default_rng(3)
    given_x = rng.permutation(50).astype(float)
    given_y = given_x / 10 + rng.standard_normal(50)
    order = np.argsort(given_x)
    peer = isotonic(given_y[order])
    _, y = monotone(given_x, given_y)
    np.testing.assert_allclose(y, np.unique(np.round(peer.x, 12)))


def test_the_margin_is_the_least_that_controls_the_risk() -> None:
    made, k, risk = list(pairs(60).values()), 5, 0.05

    def corrected(bound: Bound) -> float:
        missed = [np.mean(np.argsort(-one.expensive, kind="stable")[:k] >= n_read(one, bound, k)) for one in made]
        return (sum(missed) + 1) / (len(made) + 1)

    bound = fit(made, k, risk)
    assert corrected(bound) <= risk
    assert corrected(bound._replace(margin=bound.margin - 0.05)) > risk


def test_less_risk_is_a_larger_margin_and_cheap_scores_without_noise_need_none() -> None:
    made = list(pairs(100).values())
    assert fit(made, 5, 0.02).margin > fit(made, 5, 0.2).margin
    certain = list(pairs(100, noise=0.0).values())
    bound = fit(certain, 5, 0.05)
    assert {n_read(one, bound, 5) for one in certain} == {5}


def test_on_held_out_queries_about_the_risk_that_was_asked_for_is_run() -> None:
    missed, left_alone = held_out(pairs(300, n_docs=60), 5, 0.05)
    assert 0.02 < missed < 0.07
    assert 0.4 < left_alone < 1


def test_too_few_queries_for_a_risk_are_refused() -> None:
    with pytest.raises(InputError, match="calibrate with 19 queries or more"):
        fit(list(pairs(10).values()), 5, 0.05)
    with pytest.raises(InputError, match=r"20 queries, and a fold learns from 14 queries.* a fold needs 19 queries"):
        held_out(pairs(20), 5, 0.05)


@pytest.mark.parametrize(("doc_ids", "missed"), [(["a", "b"], 1), (["b", "a"], 0)])
def test_of_documents_with_equal_scores_the_higher_ids_are_the_true_top_k(doc_ids: list[str], missed: int) -> None:
    """The second of two documents is not read."""
    tied = Pairs(np.array([0.9, 0.01]), np.array([1.8, 1.8]), doc_ids)
    share, _ = held_out({**pairs(60, noise=0.0), "tied": tied}, 1, 0.05)
    assert share == pytest.approx(missed / 61)
