"""The best places of a document: passages that overlap or touch are one place, and no character is shown twice."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from longrank.ranking.places import best_places
from longrank.types import Span

TEXT = "abcdefghi " * 10
"""Ten words of nine letters; word n is at 10 n."""


def places(passages: list[Span], merit: list[float], n: int, text: str = TEXT) -> list[tuple[int, int, int]]:
    order = sorted(range(len(passages)), key=lambda i: -merit[i])
    found = best_places(text, [passages[i] for i in order], n)
    return [(place.start, place.end, order[place.rank]) for place in found]


def test_passages_apart_are_places_of_their_own_best_first() -> None:
    assert places([(0, 9), (20, 29), (40, 49)], [1, 3, 2], 5) == [(20, 29, 1), (40, 49, 2), (0, 9, 0)]
    assert places([(0, 9), (20, 29), (40, 49)], [1, 3, 2], 2) == [(20, 29, 1), (40, 49, 2)]
    assert places([(0, 9), (20, 29), (40, 49)], [1, 3, 2], 0) == []


def test_a_window_joins_the_better_window_that_it_overlaps() -> None:
    windows = [(0, 39), (20, 59), (40, 79), (60, 99)]
    assert places(windows, [4, 3, 0, 2], 9) == [(0, 59, 0)]  # the fourth window touches the place: left out
    assert places(windows, [4, 0, 0, 2], 9) == [(0, 39, 0), (60, 99, 3)]
    assert places(windows, [4, 3, 0, 2], 1) == [(0, 39, 0)]  # the first place is full at once


def test_a_place_is_at_most_twice_as_long_as_its_best_passage() -> None:
    assert places([(0, 20), (20, 40), (40, 60)], [3, 2, 1], 9) == [(0, 40, 0)]
    assert places([(0, 20), (20, 41)], [2, 1], 9) == [(0, 20, 0)]
    assert places([(0, 20), (20, 41)], [1, 2], 9) == [(0, 41, 1)]


def test_a_short_passage_inside_a_place_changes_nothing() -> None:
    assert places([(0, 40), (10, 15)], [2, 1], 9) == [(0, 40, 0)]


def test_passages_with_only_white_space_between_touch() -> None:
    assert places([(0, 9), (10, 18)], [2, 1], 9) == [(0, 18, 0)]
    assert places([(0, 9), (10, 19)], [2, 1], 9) == [(0, 9, 0)]  # 19 > 2 * 9
    assert places([(0, 9), (11, 19)], [2, 1], 9) == [(0, 9, 0), (11, 19, 1)]
    assert places([(0, 3), (6, 9)], [1, 2], 9, "One\u00a0\n\u2029Two") == [(6, 9, 1)]


def test_a_passage_between_two_places_is_left_out() -> None:
    assert places([(0, 30), (25, 45), (40, 70)], [3, 1, 2], 9) == [(0, 30, 0), (40, 70, 2)]


def test_the_empty_passage_of_an_empty_document_is_a_place() -> None:
    assert places([(0, 0)], [0], 3, "") == [(0, 0, 0)]


@given(
    text=st.text("ab \n", min_size=1, max_size=60),
    cuts=st.lists(st.tuples(st.integers(0, 59), st.integers(1, 30)), min_size=1, max_size=12),
    n=st.integers(0, 5),
)
def test_places_are_apart_and_hold_their_best_passage(text: str, cuts: list[tuple[int, int]], n: int) -> None:
    passages = [(min(start, len(text) - 1), min(start + length, len(text))) for start, length in cuts]
    found = best_places(text, passages, n)
    assert len(found) <= n
    assert bool(found) == (n > 0)
    for place in found:
        start, end = passages[place.rank]
        assert place.start <= start <= end <= place.end <= len(text)
        assert place.end - place.start <= 2 * (end - start)
    for first, second in combinations(sorted(found), 2):
        assert first.end < second.start
        assert text[first.end : second.start].strip()
    assert [place.rank for place in found] == sorted(place.rank for place in found)
