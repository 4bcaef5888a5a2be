"""What Java decides, against what Java 17 printed."""

from __future__ import annotations

from itertools import islice

import pytest

from longrank.retrieval.feedback.java import hash_of, random_ints, table_size


@pytest.mark.parametrize(
    ("seed", "bound", "printed"),
    [
        (42, 1, [0, 0, 0, 0]),
        (42, 10, [0, 3, 8, 4, 0, 5, 5, 8]),
        (42, 16, [11, 0, 10, 0, 4, 15, 4, 11]),  # powers of two have a rule of their own
        (42, 1398, [1166, 1305, 462, 164, 624, 1183, 551, 362]),
        (7, 100, [36, 64, 85, 44, 80, 54, 68, 49]),
        (0, 1073741825, [516548029, 663681053, 251269761, 715581077, 542832677]),  # half of the draws are rejected
        (0, 2147483647, [1569741360, 1785505948, 516548029, 1302116447]),
    ],
)
def test_random_numbers_are_those_of_java(seed: int, bound: int, printed: list[int]) -> None:
    assert list(islice(random_ints(seed, bound), len(printed))) == printed


@pytest.mark.parametrize(
    ("word", "printed"), [("apple", 93030097), ("hello", 99163451), ("c3", 3120), ("information", 1968570490)]
)
def test_hashes_are_those_that_a_hash_map_uses(word: str, printed: int) -> None:
    assert hash_of(word) == printed


def test_words_in_a_hash_set_come_in_the_order_of_their_buckets() -> None:
    words = [f"word{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    printed = "acbedgfihkjmlonqpsrutwvyxz"  # the last letters, as System.out prints the set
    in_buckets = sorted(words, key=lambda word: hash_of(word) % table_size(len(words)))
    assert "".join(word[-1] for word in in_buckets) == printed


@pytest.mark.parametrize(("n", "size"), [(0, 16), (12, 16), (13, 32), (24, 32), (25, 64), (48, 64), (49, 128)])
def test_a_table_grows_when_three_quarters_are_filled(n: int, size: int) -> None:
    assert table_size(n) == size
