from __future__ import annotations

import math

import pytest

from longrank.errors import InputError
from longrank.evaluation.measures import coverage, evaluate, is_count, summarise
from longrank.evaluation.names import parse_measure
from longrank.evaluation.own import interpolated_precision
from longrank.types import Run, ScoredDoc

QRELS = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"d": 1}, "q3": {"e": 0}}


def run(**rankings: str) -> Run:
    """Rankings as words, a letter per document, best first."""
    return Run("run", [ScoredDoc(q, doc, -float(i)) for q, word in rankings.items() for i, doc in enumerate(word)])


def test_a_topic_that_the_run_misses_counts_as_zero() -> None:
    values = evaluate(QRELS, run(q1="ba"), ["RR"])
    assert values == {"RR": {"q1": 0.5, "q2": 0.0, "q3": 0.0}}
    assert summarise("RR", values["RR"].values()) == pytest.approx(0.5 / 3)


def test_over_the_intersection_only_the_runs_topics_count() -> None:
    assert evaluate(QRELS, run(q1="ba", q9="z"), ["RR"], queries="intersection") == {"RR": {"q1": 0.5}}


def test_a_topic_without_relevant_documents_is_zero_and_stays() -> None:
    assert evaluate(QRELS, run(q3="e"), ["AP", "nDCG@10", "Bpref", "R@10", "SetF"]) == {
        name: {"q1": 0.0, "q2": 0.0, "q3": 0.0} for name in ("AP", "nDCG@10", "Bpref", "R@10", "SetF")
    }


def test_topics_judged_with_negative_grades_only_do_not_crash_and_are_zero() -> None:
    qrels = {"q1": {"a": -1, "b": -2}, "q2": {"a": 1}, "q3": {}}
    values = evaluate(qrels, run(q1="ab", q2="a", q3="a"), ["infAP", "AP", "Bpref", "Judged@5"])
    assert [values[name]["q1"] for name in values] == [0.0] * 4
    assert [values[name]["q3"] for name in values] == [0.0] * 4
    assert values["AP"]["q2"] == values["Judged@5"]["q2"] == 1.0


def test_a_negative_grade_is_no_judgment() -> None:
    assert evaluate({"q": {"a": -1, "b": 0}}, run(q="ab"), ["Judged@2"])["Judged@2"]["q"] == 0.5


@pytest.mark.parametrize(
    "measure", ["RR", "RR@10", "P@1", "AP", "nDCG@1", "Success@1", "ERR@5", "nDCG(dcg='exp-log2')@1"]
)
def test_every_provider_breaks_ties_by_descending_document_id(measure: str) -> None:
    tied = Run("run", [ScoredDoc("q", doc, 1.0) for doc in ("a", "b", "c")])
    first = evaluate({"q": {"c": 1, "a": 0}}, tied, [measure])
    last = evaluate({"q": {"a": 1, "c": 0}}, tied, [measure])
    (name,) = first
    assert first[name]["q"] > last[name]["q"]


def test_judged_at_k_breaks_ties_by_descending_document_id() -> None:
    tied = Run("run", [ScoredDoc("q", doc, 1.0) for doc in ("a", "b", "c")])
    assert evaluate({"q": {"c": 0}}, tied, ["Judged@1"])["Judged@1"]["q"] == 1.0


def test_scores_that_are_equal_as_float32_are_ties() -> None:
    close = Run("run", [ScoredDoc("q", "a", 1.00000001), ScoredDoc("q", "b", 1.0)])
    assert evaluate({"q": {"a": 1}}, close, ["RR"])["RR"]["q"] == 0.5


def test_a_level_decides_what_is_relevant_but_not_how_much() -> None:
    values = evaluate(QRELS, run(q1="ca"), ["AP", "AP(rel=1)", "nDCG@2", "NumRel", "NumRelRet"], level=2)
    assert {name: per_query["q1"] for name, per_query in values.items()} == {
        "AP(rel=2)": 0.5,
        "AP": 1.0,
        "nDCG@2": pytest.approx((1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))),
        "NumRel(rel=2)": 1.0,
        "NumRet(rel=2)": 1.0,
    }


def test_a_depth_cuts_the_ranking_before_anything_is_measured() -> None:
    values = evaluate(QRELS, run(q1="bac"), ["AP", "R@1000", "NumRet"], max_depth=2)
    assert {name: per_query["q1"] for name, per_query in values.items()} == {"AP": 0.25, "R@1000": 0.5, "NumRet": 2.0}


def test_counts_are_summed_and_know_the_topics_that_the_run_misses() -> None:
    values = evaluate(QRELS, run(q1="ba"), ["num_q", "num_ret", "num_rel", "num_rel_ret"])
    assert {name: summarise(name, v.values()) for name, v in values.items()} == {
        "NumQ": 3,
        "NumRet": 2,
        "NumRel": 3,
        "NumRet(rel=1)": 1,
    }
    assert all(map(is_count, values)) and not is_count("nDCG@10")


def test_measure_objects_and_names_may_be_mixed() -> None:
    assert list(evaluate(QRELS, run(q1="a"), [parse_measure("P@1"), "P_1", "RR"])) == ["P@1", "RR"]


def test_query_ids_of_any_shape_reach_every_provider() -> None:
    qrels = {"Frage-7": {"a": 1}, "2024-7": {"b": 1}, "日本": {"c": 4}}
    found = Run("run", [ScoredDoc(q, doc, 1.0) for q, judged in qrels.items() for doc in judged])
    values = evaluate(qrels, found, ["ERR@5", "RR@5", "AP"])
    assert values["ERR@5"] == {"Frage-7": 0.0625, "2024-7": 0.0625, "日本": 0.9375}
    assert set(values["RR@5"].values()) == set(values["AP"].values()) == {1.0}


def test_gdevals_limit_of_grades_is_said() -> None:
    with pytest.raises(InputError, match="beyond 4, the highest grade of ERR@5"):
        evaluate({"q": {"a": 5}}, run(q="a"), ["ERR@5", "AP"])


def test_no_common_query_is_an_error_that_names_the_file() -> None:
    with pytest.raises(InputError, match=r"^my\.run: the run has no query in common with the judgments"):
        evaluate(QRELS, run(x="a"), ["AP"], origin="my.run")
    with pytest.raises(InputError, match="no query in common"):
        evaluate({}, run(x="a"), ["AP"])
    with pytest.raises(InputError, match="no query in common"):
        evaluate(QRELS, Run("empty", []), ["AP"])


@pytest.mark.parametrize("options", [{"level": 0}, {"level": 128}, {"max_depth": 0}])
def test_options_out_of_range_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(InputError, match="must be"):
        evaluate(QRELS, run(q1="a"), ["nDCG@10"], **options)


def test_grades_that_would_stall_pytrec_eval_are_refused() -> None:
    with pytest.raises(InputError, match="grade of document 'a' for query 'q' is beyond 127"):
        evaluate({"q": {"a": 10**9}}, run(q="a"), ["nDCG"])


def test_coverage_counts_missing_topics_and_unjudged_queries() -> None:
    assert coverage(QRELS, run(q1="a", q8="b", q9="c")) == (3, 2, 2)


def test_interpolated_precision_is_the_best_from_the_recall_level_on() -> None:
    hits = [False, True, True, False, True]  # precision 0, 1/2, 2/3, 1/2, 3/5
    assert interpolated_precision(hits, 4, 0.0) == 2 / 3
    assert interpolated_precision(hits, 4, 0.5) == 2 / 3
    assert interpolated_precision(hits, 4, 0.75) == 3 / 5
    assert interpolated_precision(hits, 4, 1.0) == 0.0


def test_a_recall_level_stands_for_the_nearest_number_of_documents() -> None:
    hits = [True, False, False, False, True]
    assert interpolated_precision(hits, 12, 0.1) == 1.0  # 1.2 documents are 1
    assert interpolated_precision(hits, 5, 0.3) == 2 / 5  # 1.5 documents are 2


def test_interpolated_precision_of_judged_documents_only_skips_the_others() -> None:
    name = "IPrec(judged_only=True)@1"
    assert next(iter(evaluate({"q": {"a": 1}}, run(q="xya"), [name]).values())) == {"q": 1.0}
