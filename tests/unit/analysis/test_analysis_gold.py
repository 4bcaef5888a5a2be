"""Gold spans, and the places of answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longrank.analysis.gold import Gold, GoldCollection, gold_collection, occurrences
from longrank.errors import InputError
from longrank.formats.passage_qrels import PassageJudgment
from longrank.types import Document, Notes

TEXT = "In 1910 it was 10. In October 10 left; october came."


def judged(doc_id: str, passage: Any, grade: int = 1) -> PassageJudgment:
    return PassageJudgment("q", doc_id, passage, grade, Path("p"), 3)


def collection(judgments: list[PassageJudgment], notes: Notes | None = None, **options: Any) -> GoldCollection:
    documents = [Document("d", "", TEXT, ((0, 18), (19, 38))), Document("e", "", "none"), Document("f", "", "")]
    qrels = {"q": {"d": 2, "e": 1, "f": 0, "g": 1}}
    return gold_collection(documents, qrels, judgments, {"q": ["10"]}, notes=notes or Notes(), **options)


def test_an_answer_stands_between_word_borders() -> None:
    assert occurrences(TEXT, ["10"], []) == ((15, 17), (30, 32))
    assert occurrences("$12 or $123", ["$12"], []) == ((0, 3),)
    assert occurrences("a-b.", ["b."], []) == ((2, 4),)


def test_only_gold_spans_are_searched() -> None:
    assert occurrences(TEXT, ["10"], [(19, 38)]) == ((30, 32),)
    assert occurrences(TEXT, ["In October 10"], [(0, 18), (25, 38)]) == ()


def test_occurrences_overlap_and_a_span_that_ends_inside_a_word_is_no_border() -> None:
    assert occurrences("no no no way", ["no no"], []) == ((0, 5), (3, 8))
    assert occurrences("1099 cats", ["10"], [(0, 2)]) == ()
    assert occurrences("1099 cats", ["99"], [(2, 4)]) == ()
    assert occurrences("10 cats", ["10"], [(0, 2)]) == ((0, 2),)


def test_case_is_ignored_only_if_no_alternative_occurs_as_it_is() -> None:
    assert occurrences(TEXT, ["October"], []) == ((22, 29),)
    assert occurrences(TEXT, ["OCTOBER"], []) == ((22, 29), (39, 46))
    assert occurrences(TEXT, ["OCTOBER", "left"], []) == ((33, 37),)


def test_white_space_may_differ() -> None:
    assert occurrences("New\n York", ["New York "], []) == ((0, 9),)


@given(st.text("ab .A", max_size=20), st.text("ab .", min_size=1, max_size=3).filter(str.strip))
def test_an_occurrence_is_the_answer(text: str, answer: str) -> None:
    for start, end in occurrences(text, [answer], []):
        assert text[start:end].lower().split() == answer.split()


def test_gold_has_spans_of_the_level_and_all_occurrences_in_them() -> None:
    rows = [judged("d", 1), judged("d", (0, 18), 2), judged("d", (0, 2), 0)]
    notes = Notes()
    known = collection(rows, notes)
    assert known.pairs == [("q", "d"), ("q", "e")]
    assert known.lengths == {"d": len(TEXT), "e": 4, "f": 0}
    assert known.gold(("q", "d")) == Gold(len(TEXT), ((0, 18), (19, 38)), ((15, 17), (30, 32)))
    assert known.gold(("q", "e")) == Gold(4, (), ())
    assert notes["relevant documents that the collection lacks"] == 1
    known = collection(rows, level=2)
    assert (known.pairs, known.gold(("q", "d")).spans) == ([("q", "d")], ((0, 18),))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (judged("x", 0), "p:3: a judged passage is of an unknown document (got 'x')"),
        (judged("d", 2), "p:3: document d has 2 passages, numbered from 0 (got 2)"),
        (judged("e", 0), "p:3: document e has no passages of its source (got 0)"),
        (judged("d", (5, 5)), "p:3: a gold span is empty or outside document d of 52 characters (got '5 5')"),
        (judged("d", (7, 5)), "is empty or outside"),
        (judged("d", (-1, 5)), "is empty or outside"),
        (judged("d", (0, 53)), "is empty or outside"),
        (judged("d", (0, 53), 0), "is empty or outside"),
    ],
)
def test_wrong_gold_is_refused(row: PassageJudgment, message: str) -> None:
    with pytest.raises(InputError) as raised:
        collection([row])
    assert message in str(raised.value)
