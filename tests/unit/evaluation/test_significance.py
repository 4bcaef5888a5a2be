from __future__ import annotations

import random

import numpy as np
import pytest

from longrank.errors import InputError
from longrank.evaluation.significance import (
    bonferroni,
    corrected,
    differences,
    holm,
    randomization_test,
    t_test,
)


def _pair(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    baseline = rng.random(n)
    return baseline + rng.normal(0.05, 0.2, n), baseline


def test_differences_are_of_the_queries_that_both_have() -> None:
    assert differences({"c": 1.0, "b": 0.5}, {"a": 0.25, "b": 0.125, "c": 0.5}).tolist() == [0.375, 0.5]


@pytest.mark.parametrize("n", [2, 3, 10, 250])
def test_the_t_test_is_scipys(n: int) -> None:
    from scipy.stats import ttest_rel

    values, baseline = _pair(n, seed=n)
    assert t_test(values - baseline) == pytest.approx(ttest_rel(values, baseline).pvalue, rel=1e-9)


@pytest.mark.parametrize("test", [t_test, randomization_test])
def test_identical_runs_have_p_one(test) -> None:  # type: ignore[no-untyped-def]
    assert test(np.zeros(50)) == 1.0


@pytest.mark.parametrize("test", [t_test, randomization_test])
def test_fewer_than_two_queries_have_no_p(test) -> None:  # type: ignore[no-untyped-def]
    assert test(np.zeros(0)) is None
    assert test(np.array([0.5])) is None


def test_a_constant_difference_has_p_zero_in_the_t_test() -> None:
    assert t_test(np.full(4, 0.25)) == 0.0


@pytest.mark.parametrize("n", [3, 7, 12])
def test_the_randomization_test_of_few_queries_is_scipys_exact_one(n: int) -> None:
    from scipy.stats import permutation_test

    values, baseline = _pair(n, seed=n)
    d = values - baseline
    expected = permutation_test(
        (d,), lambda x, axis: x.mean(axis=axis), permutation_type="samples", n_resamples=np.inf, vectorized=True
    )
    assert randomization_test(d) == pytest.approx(expected.pvalue, rel=1e-12)


def test_the_randomization_test_by_hand() -> None:
    # signs of (3, 2): +5, +1, -1, -5; as far from 0 as 5: two of four
    assert randomization_test(np.array([3.0, 2.0])) == 0.5
    # of (3, -2) the sum is 1, and all four are as far
    assert randomization_test(np.array([3.0, -2.0])) == 1.0


def test_queries_without_a_difference_do_not_change_the_exact_test() -> None:
    d = np.array([0.3, 0.2, -0.1, 0.4])
    assert randomization_test(np.concatenate([d, np.zeros(500)])) == randomization_test(d)


def test_sums_that_are_equal_on_paper_count_as_equal() -> None:
    # 0.1 + 0.2 - 0.3 is 0 on paper and 5.6e-17 in floating point: every assignment is as extreme
    assert randomization_test(np.array([0.1, 0.2, -0.3])) == 1.0


def test_sampling_approaches_the_exact_test() -> None:
    values, baseline = _pair(14, seed=5)
    d = values - baseline
    exact = randomization_test(d, samples=1 << 14)
    sampled = randomization_test(d, samples=(1 << 14) - 1)
    assert exact is not None and sampled is not None and exact != sampled
    assert sampled == pytest.approx(exact, abs=4 * (exact * (1 - exact) / (1 << 14)) ** 0.5)


def test_sampling_is_a_function_of_the_seed() -> None:
    values, baseline = _pair(40, seed=1)
    d = values - baseline
    assert randomization_test(d, samples=9999, seed=3) == randomization_test(d, samples=9999, seed=3)
    assert randomization_test(d, samples=9999, seed=3) != randomization_test(d, samples=9999, seed=4)


def test_a_sampled_p_is_never_zero() -> None:
    assert randomization_test(np.ones(60), samples=999) == 1 / 1000


def test_bonferroni_multiplies_by_all_comparisons() -> None:
    assert bonferroni([0.01, None, 0.4], 3) == [pytest.approx(0.03), None, 1.0]


def test_holm_by_hand() -> None:
    # sorted: .01 x 4 = .04, .02 x 3 = .06, .022 x 2 = .044 -> .06, .4 x 1 = .4
    p = [0.022, 0.4, 0.01, 0.02]
    assert holm(p, 4) == [pytest.approx(0.06), pytest.approx(0.4), pytest.approx(0.04), pytest.approx(0.06)]


def test_holm_counts_comparisons_made_elsewhere_and_leaves_out_what_was_not_tested() -> None:
    assert holm([0.01, None], 5) == [pytest.approx(0.05), None]


def test_holm_is_between_the_raw_p_and_bonferroni() -> None:
    rng = random.Random(2)
    for _ in range(200):
        p = [rng.random() ** 3 for _ in range(rng.randint(1, 8))]
        for raw, stepwise, once in zip(p, holm(p, len(p)), bonferroni(p, len(p)), strict=True):
            assert stepwise is not None and once is not None
            assert raw <= stepwise <= once + 1e-15


def test_no_correction_leaves_p_as_it_is() -> None:
    assert corrected([0.01, None], None, 2) == [0.01, None]


def test_there_cannot_be_fewer_comparisons_than_tests() -> None:
    with pytest.raises(InputError, match="cannot be fewer comparisons"):
        corrected([0.1, 0.2], "holm", 1)
