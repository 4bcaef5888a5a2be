from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longrank.errors import InputError
from longrank.evaluation.folds import make_folds
from longrank.formats.folds import Fold

MANY = [f"q{i}" for i in range(40)]


@pytest.mark.parametrize("n", [2, 3, 5, 40])
def test_every_query_is_tested_once_and_trained_on_in_no_fold_that_tests_it(n: int) -> None:
    folds = make_folds(MANY, n, seed=42)
    assert sorted(q for fold in folds.values() for q in fold.test) == sorted(MANY)
    assert {len(fold.test) for fold in folds.values()} <= {40 // n, 40 // n + 1}
    for fold in folds.values():
        assert sorted((*fold.train, *fold.dev, *fold.test)) == sorted(MANY)
    assert folds == make_folds(MANY[::-1], n, seed=42)
    assert n == 40 or folds != make_folds(MANY, n, seed=1)


@pytest.mark.parametrize("n", [1, 41])
def test_folds_that_cannot_be_made_are_refused(n: int) -> None:
    with pytest.raises(InputError, match="between 2 and 40 folds"):
        make_folds(MANY, n, seed=42)


def test_the_dev_part_of_a_fold_is_the_test_part_of_the_next() -> None:
    folds = list(make_folds(MANY, 5, seed=42).values())
    assert [fold.dev for fold in folds] == [fold.test for fold in (*folds[1:], folds[0])]


def test_folds_stay_what_they_were() -> None:
    assert make_folds(["a", "b", "c", "d", "e"], 3, seed=42) == {
        "s1": Fold(("c",), ("a", "d"), ("e", "b")),
        "s2": Fold(("e", "b"), ("c",), ("a", "d")),
        "s3": Fold(("a", "d"), ("e", "b"), ("c",)),
    }


def test_large_groups_are_placed_first_so_that_parts_are_nearly_equal() -> None:
    group_of = {q: group for group, queries in {"x": "abcd", "y": "ef", "z": "g", "w": "h"}.items() for q in queries}
    folds = make_folds("abcdefgh", 2, seed=0, group_of=group_of)
    assert {frozenset(fold.test) for fold in folds.values()} == {frozenset("abcd"), frozenset("efgh")}


@given(st.dictionaries(st.text("abc", min_size=1), st.sampled_from("uvwxyz"), min_size=8), st.integers(2, 4))
def test_a_group_is_never_split(group_of: dict[str, str], n: int) -> None:
    if len(set(group_of.values())) < n:
        with pytest.raises(InputError, match="groups of queries can make"):
            make_folds(list(group_of), n, seed=1, group_of=group_of)
        return
    folds = make_folds(list(group_of), n, seed=1, group_of=group_of)
    parts = [{group_of[query_id] for query_id in fold.test} for fold in folds.values()]
    assert sum(map(len, parts)) == len(set(group_of.values()))
    assert sorted(q for fold in folds.values() for q in fold.test) == sorted(group_of)


def test_a_query_without_a_group_is_named() -> None:
    with pytest.raises(InputError, match=r"no group \(got 'b'\)"):
        make_folds(["a", "b"], 2, seed=1, group_of={"a": "x"})
