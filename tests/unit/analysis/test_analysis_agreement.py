from __future__ import annotations

import numpy as np
import pytest

from evidences import run
from longrank.analysis.agreement import agreements, matrix, overlap, rbo, tau
from longrank.errors import InputError


def test_tau_counts_pairs_of_the_documents_that_both_rank() -> None:
    assert tau("abcd", "abcd") == 1
    assert tau("abcd", "dcba") == -1
    assert tau("abcd", "abdc") == pytest.approx(4 / 6)  # five pairs in order, one not
    assert tau("axbyc", "zbca") == pytest.approx(-1 / 3)  # of a, b, c: b c in order, a b and a c not
    assert tau("ab", "bc") is None


def test_rbo_of_rankings_of_one_length() -> None:
    """p = .5; common documents at depths 1, 2, 3: 0, 2, 2. (1 - p) / p = 1; sum of X_d / d p^d, and X_3 / 3 p^3."""
    assert rbo("abc", "bad", 0.5) == pytest.approx(0 + 1 / 4 + 2 / 3 / 8 + 2 / 3 / 8)
    assert rbo("abc", "abc", 0.9) == pytest.approx(1)
    assert rbo("abc", "xyz", 0.9) == 0


def test_rbo_of_a_shorter_and_a_longer_ranking() -> None:
    """Equal from depth 2 on, beyond the end of the shorter as before it: the weight of all depths but the first, p."""
    assert rbo("ab", "bacd", 0.5) == pytest.approx(0.5)
    assert rbo("bacd", "ab", 0.5) == pytest.approx(0.5)


def test_rbo_grows_as_the_longer_ranking_holds_more_of_the_shorter() -> None:
    """p = .5, s = 2, l = 3. X: 0, 0, 1. Sum: 1/3 / 8, and nothing from X_s = 0; then (1 - 0) / 3 / 8."""
    assert rbo("ab", "xya", 0.5) == pytest.approx(1 / 24 + 1 / 24)


def test_overlap_is_of_the_first_k_or_of_all_there_are() -> None:
    assert overlap("abcd", "badx", 2) == 1
    assert overlap("abcd", "badx", 3) == pytest.approx(2 / 3)
    assert overlap("ab", "bx", 10) == 0.5
    assert overlap("ab", "abxy", 10) == 0.5


def test_runs_are_compared_pair_by_pair_over_common_queries() -> None:
    one = run({"1": {"a": 3, "b": 2}, "2": {"a": 1}, "3": {"a": 1}})
    other = run({"1": {"a": 2, "b": 3}, "2": {"a": 1}, "4": {"a": 1}})
    found = agreements({"one": one, "other": other, "again": one}, k=1)
    assert [(pair.one, pair.other, pair.queries) for pair in found] == [
        ("one", "other", 2),
        ("one", "again", 3),
        ("other", "again", 2),
    ]
    first = found[0]
    assert first.per_query["1"] == {"tau": -1, "rbo": pytest.approx(rbo("ab", "ba")), "overlap": 0}
    assert first.means == {"tau": -1, "rbo": pytest.approx((rbo("ab", "ba") + 1) / 2), "overlap": 0.5}
    assert matrix(["one", "other", "again"], found, "overlap").tolist() == [[1, 0.5, 1], [0.5, 1, 0.5], [1, 0.5, 1]]


def test_a_depth_cuts_rankings_for_tau_and_rbo_only() -> None:
    one, other = run({"1": {"a": 3, "b": 2, "c": 1}}), run({"1": {"a": 3, "c": 2, "b": 1}})
    (pair,) = agreements({"one": one, "other": other}, k=3, depth=1)
    assert pair.means == {"tau": None, "rbo": pytest.approx(1), "overlap": 1}
    assert np.isnan(matrix(["one", "other"], [pair], "tau")[0, 1])


@pytest.mark.parametrize(
    ("more", "said"),
    [({"p": 1.0}, "above 0 and below 1"), ({"k": 0}, "at least 1"), ({"depth": 0}, "at least 1")],
)
def test_options_out_of_range_are_refused(more: dict[str, float], said: str) -> None:
    with pytest.raises(InputError, match=said):
        agreements({"a": run({"1": {"a": 1}}), "b": run({"1": {"a": 1}})}, **more)  # type: ignore[arg-type]


def test_one_run_or_two_without_a_common_query_are_refused() -> None:
    with pytest.raises(InputError, match="two runs or more"):
        agreements({"a": run({"1": {"a": 1}})})
    with pytest.raises(InputError, match="no query in common"):
        agreements({"a": run({"1": {"a": 1}}), "b": run({"2": {"a": 1}})})
