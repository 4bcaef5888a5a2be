from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longrank.errors import InputError
from longrank.training.passages import (
    PASSAGE_CHOICES,
    aligned,
    all_passages,
    make_passage_choice,
    random_passages,
)
from longrank.training.samples import Group

PAIR = Group("q", ("d1", "d2"), (1.0, 0.0))


def test_aligned_readings_begin_with_the_first_passages_and_never_pass_the_shorter_document() -> None:
    assert aligned(PAIR, (3, 5), 42, 0, keep=1) == [((0,), (0,)), ((1,), (1,)), ((2,), (2,))]
    assert aligned(PAIR, (3, 5), 42, 0, keep=0) == [((0,), (0,))]


def test_aligned_keeps_a_tenth_of_the_other_passages() -> None:
    readings = [reading for n in range(300) for reading in aligned(PAIR, (21, 30), 42, n)]
    counts = Counter(first for (first,), _ in readings)
    assert counts[0] == 300
    assert 500 < sum(counts.values()) - 300 < 700  # of 300 times 20
    assert set(counts) == set(range(21))


def test_aligned_passages_of_a_single_document_are_the_pointwise_rule() -> None:
    one = Group("q", ("d1",), (1.0,))
    assert aligned(one, (21,), 42, 7) == [(i,) for i, _ in aligned(PAIR, (21, 30), 42, 7)]


def test_random_passages_are_drawn_for_each_document_by_itself() -> None:
    drawn = Counter(random_passages(PAIR, (2, 3), 42, n)[0] for n in range(3000))
    assert drawn.keys() == {((i,), (j,)) for i in range(2) for j in range(3)}
    assert all(430 < count < 570 for count in drawn.values())


def test_random_passages_do_not_depend_on_the_place_of_a_document_in_its_group() -> None:
    ((first, second),) = random_passages(PAIR, (9, 50), 42, 3)
    swapped = Group("q", ("d2", "d1"), (0.0, 1.0))
    assert random_passages(swapped, (50, 9), 42, 3) == [(second, first)]


def test_all_passages_are_one_reading_of_whole_documents() -> None:
    assert all_passages(PAIR, (3, 1), 42, 0) == [((0, 1, 2), (0,))]


def test_choices_stay_what_they_were() -> None:
    assert [i for (i,), _ in aligned(PAIR, (30, 30), 42, 5)] == [0, 10, 12]
    assert random_passages(PAIR, (30, 30), 42, 5) == [((2,), (7,))]


@pytest.mark.parametrize("name", PASSAGE_CHOICES)
@given(counts=st.lists(st.integers(1, 40), min_size=1, max_size=5), seed=st.integers(), n=st.integers(0))
def test_every_reading_has_a_passage_or_more_of_every_document(name: str, counts: list[int], seed: int, n: int) -> None:
    group = Group("q", tuple(map(str, range(len(counts)))), (1.0,) * len(counts))
    readings = make_passage_choice(name)(group, counts, seed, n)
    assert readings
    for reading in readings:
        assert len(reading) == len(counts)
        assert all(list(one) == sorted(set(one)) and one for one in reading)
        assert all(0 <= i < count for one, count in zip(reading, counts, strict=True) for i in one)


def test_the_keep_probability_can_be_chosen() -> None:
    assert len(make_passage_choice("aligned", keep=1)(PAIR, (4, 4), 1, 1)) == 4


@pytest.mark.parametrize(
    ("name", "keep", "what"),
    [
        ("alined", None, "did you mean 'aligned'"),
        ("random", 0.1, "takes no keep-probability"),
        ("aligned", 1.5, "keep is a probability"),
    ],
)
def test_choices_that_do_not_exist_are_refused(name: str, keep: float | None, what: str) -> None:
    with pytest.raises(InputError, match=what):
        make_passage_choice(name, keep=keep)
