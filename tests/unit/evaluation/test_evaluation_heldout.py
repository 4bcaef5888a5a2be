from __future__ import annotations

import pytest

from evidences import run, scores
from longrank.errors import InputError
from longrank.evaluation.heldout import heldout_maps, mapfuse_folds, mean_average_precision
from longrank.formats.folds import Fold
from longrank.types import Notes

# AP of system A: q1 1, q2 1/2, q3 1/3, q4 1; of system B: q1 1/2, q2 1, q3 1, q4 1/2
QRELS = {q: {"r": 1} for q in ("q1", "q2", "q3", "q4")}
A = run(
    {
        "q1": {"r": 2.0, "x": 1.0},
        "q2": {"x": 2.0, "r": 1.0},
        "q3": {"x": 3.0, "y": 2.0, "r": 1.0},
        "q4": {"r": 2.0, "x": 1.0},
    }
)
B = run({"q1": {"x": 2.0, "r": 1.0}, "q2": {"r": 1.0}, "q3": {"r": 2.0}, "q4": {"x": 2.0, "r": 1.0}})
FOLDS = {"s1": Fold(("q1",), ("q2",), ("q3", "q4")), "s2": Fold(("q3",), ("q4",), ("q1", "q2"))}


def test_map_averages_over_the_judged_queries_asked_for_and_a_missing_one_counts_zero() -> None:
    assert mean_average_precision(A, QRELS, ["q1", "q2", "unjudged"]) == pytest.approx(0.75)
    assert mean_average_precision(run({"q1": {"r": 1.0}}), QRELS, ["q1", "q2"]) == 0.5


def test_map_of_no_judged_query_is_refused() -> None:
    with pytest.raises(InputError, match="no held-out query has judgments"):
        mean_average_precision(A, QRELS, ["q9"])


def test_heldout_maps_come_from_the_heldout_queries() -> None:
    fused = [run({"new": {"a": 1.0}}), run({"new": {"b": 1.0}})]
    assert heldout_maps([A, B], QRELS, fused) == [pytest.approx((1 + 1 / 2 + 1 / 3 + 1) / 4), pytest.approx(0.75)]


@pytest.mark.parametrize("leaking", ["q3", "only-in-the-heldout-run"])
def test_a_fused_query_among_the_heldout_ones_is_refused(leaking: str) -> None:
    heldout = [A, run({**{q: scores(B, q) for q in B}, "only-in-the-heldout-run": {"z": 1.0}})]
    with pytest.raises(InputError, match=leaking):
        heldout_maps(heldout, QRELS, [run({"new": {"a": 1.0}}), run({leaking: {"a": 1.0}})])


def test_each_system_needs_its_heldout_run() -> None:
    with pytest.raises(InputError, match="1 held-out runs for 2"):
        heldout_maps([A], QRELS, [A, B])


def test_folds_fuse_their_test_queries_with_the_maps_of_their_other_queries() -> None:
    fused = mapfuse_folds([A, B], FOLDS, QRELS, tag="t", notes=Notes())
    # s1 takes q1 and q2: A (1 + 1/2) / 2, B (1/2 + 1) / 2.  s2 takes q3 and q4: A (1/3 + 1) / 2, B (1 + 1/2) / 2.
    assert scores(fused, "q3") == {
        "r": pytest.approx(0.75 / 3 + 0.75 / 1),
        "x": pytest.approx(0.75),
        "y": pytest.approx(0.75 / 2),
    }
    assert scores(fused, "q1") == {
        "r": pytest.approx(2 / 3 + 0.75 / 2),
        "x": pytest.approx(2 / 3 / 2 + 0.75),
    }
    assert list(fused) == ["q1", "q2", "q3", "q4"]


def test_a_fold_whose_training_queries_find_nothing_relevant_is_named() -> None:
    nothing = {query_id: {"elsewhere": 1} for query_id in QRELS} | {"q1": QRELS["q1"]}
    with pytest.raises(InputError, match=r"for the training queries of fold 's[12]', so all MAPs are 0"):
        mapfuse_folds([A, B], FOLDS, nothing, tag="t", notes=Notes())


def test_a_judgment_of_a_tested_query_changes_nothing_for_it() -> None:
    other = {**QRELS, "q3": {"y": 1}, "q4": {"x": 1}}
    one, two = (mapfuse_folds([A, B], FOLDS, q, tag="t", notes=Notes()) for q in (QRELS, other))
    assert one["q3"] == two["q3"]
    assert one["q1"] != two["q1"]


def test_queries_of_folds_without_judgments_or_results_are_counted() -> None:
    judged = {query_id: grades for query_id, grades in QRELS.items() if query_id != "q4"}
    part = run({query_id: scores(B, query_id) for query_id in ("q1", "q3")})
    mapfuse_folds([A, part], FOLDS, judged, tag="t", notes=(notes := Notes()))
    assert notes.lines() == [
        "queries of folds without judgments, left out of the MAPs: 1 (first: q4)",
        "judged queries of folds that run 2 lacks, which count 0 in its MAP: 1 (first: q2)",
    ]


def test_queries_that_no_fold_tests_are_left_out_and_counted() -> None:
    notes = Notes()
    more = run({**{q: scores(A, q) for q in A}, "q9": {"r": 1.0}})
    fused = mapfuse_folds([more, B], FOLDS, QRELS, tag="t", notes=notes)
    assert "q9" not in fused
    assert notes["queries that no fold tests, left out"] == 1


def test_folds_that_test_none_of_the_queries_are_refused() -> None:
    folds = {"s1": Fold(("q1", "q2"), (), ("other",))}
    with pytest.raises(InputError, match=r"the folds test no query of the runs \(got 'q1'\)"):
        mapfuse_folds([A, B], folds, QRELS, tag="t", notes=Notes())


@pytest.mark.parametrize(
    "folds",
    [
        {"s1": Fold(("q1",), ("q2",), ("q2", "q3"))},
        {"s1": Fold(("q1",), (), ("q2",)), "s2": Fold(("q3",), (), ("q2",))},
    ],
)
def test_folds_that_test_what_they_have_seen_or_twice_are_refused(folds: dict[str, Fold]) -> None:
    with pytest.raises(InputError, match="q2"):
        mapfuse_folds([A, B], folds, QRELS, tag="t", notes=Notes())
