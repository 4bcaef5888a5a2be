from __future__ import annotations

import pytest

from longrank.errors import InputError
from longrank.evaluation.residual import judged_documents, residual_qrels, residual_run
from longrank.types import Notes, Run, ScoredDoc
from longrank.verbs.evaluate import evaluate

BEFORE = judged_documents([{"1": {"a": 1, "b": 0}}, {"1": {"c": 0}, "2": {"d": -1}}])


def test_what_several_judgments_judge_is_united_and_a_negative_grade_is_no_judgment() -> None:
    assert dict(BEFORE) == {"1": {"a", "b", "c"}, "2": set()}


def test_judgments_lose_what_was_judged_before_topic_by_topic() -> None:
    assert residual_qrels({"1": {"a": 2, "x": 1}, "2": {"a": 1}}, BEFORE) == {"1": {"x": 1}, "2": {"a": 1}}


def test_a_topic_of_which_nothing_is_left_is_no_topic() -> None:
    assert residual_qrels({"1": {"a": 2}, "2": {"d": 1}}, BEFORE) == {"2": {"d": 1}}
    assert residual_qrels({"1": {"a": 2, "x": -1}, "2": {"d": 1}}, BEFORE) == {"2": {"d": 1}}
    with pytest.raises(InputError, match="every judged document was judged before; are they the same judgments"):
        residual_qrels({"1": {"a": 2}}, BEFORE)


def test_a_topic_that_loses_nothing_stays_though_its_grades_are_negative() -> None:
    notes = Notes()
    assert residual_qrels({"1": {"a": 2}, "3": {"x": -1}}, BEFORE, notes) == {"3": {"x": -1}}
    assert residual_qrels({"1": {"a": -1, "x": -1}, "2": {"d": 1}}, BEFORE) == {"1": {"x": -1}, "2": {"d": 1}}
    assert "1 of 2 topics of the judgments left out: nothing else is judged" in notes.lines()


def test_remarks_on_earlier_judgments_are_none_on_what_is_measured() -> None:
    earlier = {"1": {"a": 0}, "2": {"b": 0}}
    notes = evaluate({"1": {"c": 1}, "2": {"d": 0}}, {"1": {"c": 1.0}}, "P@1", residual=earlier).notes
    assert notes["judged queries without a relevant document"] == 1


def test_topics_that_lose_all_relevant_documents_are_counted() -> None:
    notes = Notes()
    residual_qrels({"1": {"a": 2, "x": 0, "y": -1}, "2": {"a": 1}, "3": {"x": 0}}, BEFORE, notes)
    assert "1 of 3 topics of the judgments have no relevant document left (count as 0)" in notes.lines()


def test_judgments_of_topics_that_are_left_out_were_not_judged_before() -> None:
    notes = Notes()
    residual_qrels({"1": {"a": 1, "b": -1, "d": -2}, "2": {"e": 1}}, {"1": {"a"}}, notes)
    assert notes.lines() == [
        "1 judgments of the judgments left out: their documents were judged before",
        "1 of 2 topics of the judgments left out: nothing else is judged",
    ]


def test_queries_without_judgments_are_those_that_never_had_any() -> None:
    notes, run = Notes(), {"1": {"b": 1.0}, "2": {"c": 1.0}, "3": {"d": 1.0}}
    evaluate({"1": {"a": 1, "b": 1}, "2": {"c": 1}}, run, "P@1", residual={"1": {"a": 1}, "2": {"c": 1}}, notes=notes)
    assert [line for line in notes.lines() if "no judgments" in line] == [
        "1 of 2 queries of longrank have no judgments (ignored)"
    ]


def test_a_run_closes_up_and_keeps_its_order_and_scores() -> None:
    rows = [ScoredDoc("1", doc_id, score) for doc_id, score in (("x", 1.0), ("a", 3.0), ("y", 2.0), ("c", 2.5))]
    left = residual_run(Run("tag", [*rows, ScoredDoc("2", "a", 1.0)]), BEFORE)
    assert list(left.rows()) == [ScoredDoc("1", "y", 2.0), ScoredDoc("1", "x", 1.0), ScoredDoc("2", "a", 1.0)]
    assert left.tag == "tag"
