from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from longrank.networks.batching import batches


def test_texts_of_like_length_share_a_batch() -> None:
    assert batches([5, 2, 5, 3], 10) == [[1, 3], [0, 2]]


def test_the_budget_counts_padding() -> None:
    assert batches([1, 9], 17) == [[0], [1]]
    assert batches([1, 9], 18) == [[0, 1]]


def test_a_text_over_the_budget_goes_alone() -> None:
    assert batches([50, 1, 50], 10) == [[1], [0], [2]]


def test_nothing_makes_no_batch() -> None:
    assert batches([], 10) == []


@given(st.lists(st.integers(0, 300)), st.integers(1, 2000))
def test_every_position_occurs_once_within_the_budget(lengths: list[int], max_tokens: int) -> None:
    made = batches(lengths, max_tokens)
    assert sorted(p for batch in made for p in batch) == list(range(len(lengths)))
    assert all(len(b) == 1 or len(b) * max(lengths[p] for p in b) <= max_tokens for b in made)
