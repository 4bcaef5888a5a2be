"""Measures of shown passages, against values computed by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longrank.analysis.gold import Gold
from longrank.analysis.shown import measure_names, measured, overlap, shares_half, union
from longrank.types import Span

GOLD = Gold(100, spans=((10, 30), (60, 70)), answers=((12, 16), (90, 94)))
PASSAGES = [(40, 60), (0, 20), (10, 40), (60, 90)]


def test_hits_and_reading_of_an_answer() -> None:
    values = measured(PASSAGES, GOLD, (1, 2, 3), answers=True)
    assert tuple(values) == measure_names((1, 2, 3))
    assert values == {
        "hit@1": 0, "hit@2": 1, "hit@3": 1, "RR": 1 / 2,
        "characters": 20 + 16,  # all of the first passage, the second up to the answer's end
        "precision": 0, "recall": 0, "F1": 0,
        "coverage@1": 0, "coverage@2": 1, "coverage@3": 1,
    }  # fmt: skip


def test_hits_and_reading_of_gold_spans() -> None:
    values = measured(PASSAGES, GOLD, (1, 3, 5), answers=False)
    assert values == {
        "hit@1": 0, "hit@3": 1, "hit@5": 1, "RR": 1 / 2,
        "characters": 20 + 20,  # the second passage shares 10 of 20 characters with the first span
        "precision": 0, "recall": 0, "F1": 0,
        "coverage@1": 0, "coverage@3": 1 / 2, "coverage@5": 1,
    }  # fmt: skip


def test_overlap_is_of_the_best_passage_with_all_gold_spans() -> None:
    assert overlap((0, 20), GOLD.spans) == {"precision": 10 / 20, "recall": 10 / 30, "F1": 0.4}
    assert overlap((0, 100), GOLD.spans) == {"precision": 0.3, "recall": 1, "F1": 60 / 130}
    assert overlap((0, 20), [(0, 10), (5, 15)]) == {"precision": 0.75, "recall": 1, "F1": 30 / 35}


def test_no_character_is_read_twice() -> None:
    values = measured([(0, 20), (10, 30), (25, 50)], Gold(100, (), ((40, 45),)), (1,), answers=True)
    assert values["characters"] == 45
    assert "precision" not in values


def test_an_answer_that_is_cut_is_not_shown() -> None:
    values = measured([(0, 14), (14, 40)], Gold(100, (), ((12, 16),)), (5,), answers=True)
    assert (values["hit@5"], values["RR"], values["characters"], values["coverage@5"]) == (0, 0, 100, 0)


def test_a_document_without_passages_shows_nothing() -> None:
    values = measured([], GOLD, (1,), answers=False)
    assert values == {"hit@1": 0, "RR": 0, "characters": 100, "precision": 0, "recall": 0, "F1": 0, "coverage@1": 0}


@pytest.mark.parametrize(
    ("passage", "span", "hit"),
    [((0, 20), (10, 50), True), ((0, 20), (11, 50), False), ((0, 100), (5, 9), True), ((0, 10), (10, 20), False)],
)
def test_a_gold_span_is_hit_by_half_of_the_shorter(passage: Span, span: Span, hit: bool) -> None:
    assert shares_half(passage, span) is shares_half(span, passage) is hit


spans = st.tuples(st.integers(0, 30), st.integers(0, 30)).map(lambda pair: (min(pair), max(pair)))


@given(st.lists(spans, max_size=6))
def test_a_union_counts_each_character_once(parts: list[Span]) -> None:
    assert union(parts) == len({n for start, end in parts for n in range(start, end)})


@given(
    st.lists(spans, max_size=6), st.lists(spans.filter(lambda s: s[0] < s[1]), min_size=1, max_size=3), st.booleans()
)
def test_more_passages_show_no_less(passages: list[Span], golds: list[Span], answers: bool) -> None:
    values = measured(passages, Gold(30, tuple(golds), tuple(golds)), (1, 2, 6), answers=answers)
    assert values["hit@1"] <= values["hit@2"] <= values["hit@6"] == (values["RR"] > 0)
    assert values["coverage@1"] <= values["coverage@2"] <= values["coverage@6"] <= 1
    assert 0 <= values["characters"] <= 30
