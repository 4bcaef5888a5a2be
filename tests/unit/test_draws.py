"""Draws depend on their key and on nothing else."""

from __future__ import annotations

import hashlib
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longrank.draws import below, chance, digest, distinct, permutation, resamples, shuffled


def test_a_draw_is_sha256_of_the_parts_joined_by_tabs() -> None:
    assert digest(42, "q1", 3) == hashlib.sha256(b"42\tq1\t3").digest()
    assert below(1000, 42, "q1") == int(hashlib.sha256(b"42\tq1").hexdigest()[:16], 16) % 1000


def test_values_stay_what_they_were() -> None:
    assert [below(10, 42, n) for n in range(8)] == [2, 2, 8, 9, 1, 5, 0, 0]
    assert distinct(10, 4, 42, "q") == [2, 0, 8, 5]
    assert permutation(6, 42, "pass", 0).tolist() == [2, 0, 3, 4, 5, 1]
    assert [drawn.tolist() for drawn in resamples(4, 2, 42, "b")] == [[0, 0, 1, 2], [1, 0, 1, 2]]
    assert shuffled("abcdef", 42) == ["e", "a", "c", "b", "d", "f"]


def test_all_values_are_equally_likely() -> None:
    counts = Counter(below(4, 1, n) for n in range(4000))
    assert sorted(counts) == [0, 1, 2, 3]
    assert all(900 < count < 1100 for count in counts.values())
    assert np.mean([chance(1, n) < 0.1 for n in range(4000)]) == pytest.approx(0.1, abs=0.015)


def test_every_ordered_pair_is_drawn_equally_often() -> None:
    counts = Counter(tuple(distinct(3, 2, 7, n)) for n in range(6000))
    assert len(counts) == 6
    assert all(880 < count < 1120 for count in counts.values())


@given(st.integers(0, 60), st.data())
def test_distinct_ones_differ_and_drawing_more_only_adds(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    drawn = distinct(n, k, "key")
    assert len(set(drawn)) == k
    assert set(drawn) <= set(range(n))
    assert distinct(n, n, "key")[:k] == drawn


def test_more_than_there_are_cannot_differ() -> None:
    with pytest.raises(ValueError, match="4 different numbers of 3"):
        distinct(3, 4, "key")


@given(st.lists(st.text(), unique=True))
def test_a_shuffle_does_not_see_the_order_it_is_given(items: list[str]) -> None:
    assert shuffled(items, 1) == shuffled(items[::-1], 1)
    assert sorted(shuffled(items, 1)) == sorted(items)


@given(st.integers(0, 100), st.integers(0, 5))
def test_a_permutation_holds_every_number_once(n: int, seed: int) -> None:
    assert sorted(permutation(n, seed).tolist()) == list(range(n))
