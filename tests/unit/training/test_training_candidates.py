from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longrank.errors import InputError
from longrank.training.candidates import (
    CandidateOptions,
    Candidates,
    Remaining,
    Sources,
    find_candidates,
    with_both_sides,
)
from longrank.types import Notes, Run, ScoredDoc


def run_of(**rankings: str) -> Run:
    return Run("t", [ScoredDoc(q, d, -i) for q, docs in rankings.items() for i, d in enumerate(docs)])


# a and f are relevant, b is judged not to be, c and d are unjudged (d below zero), g is relevant and not in the run
QRELS = {"q": {"f": 1, "g": 3, "a": 2, "b": 0, "d": -2}}
RUN = run_of(q="abcdef")


def found(run: Run | None = RUN, *, sources: dict[str, Any] | None = None, **options: Any) -> tuple[str, str]:
    (one,) = find_candidates(["q"], Sources(QRELS, run, **(sources or {})), CandidateOptions(**options), Notes())
    return "".join(one.positives), "".join(one.negatives)


def test_positives_are_judged_relevant_and_in_the_run_and_negatives_the_rest_of_it() -> None:
    assert found() == ("af", "bcde")


def test_the_depth_cuts_both_sides() -> None:
    assert found(depth=3) == ("a", "bc")


def test_positives_outside_the_run_are_an_option() -> None:
    assert found(in_run=False) == ("afg", "bcde")


def test_the_relevance_level_makes_lower_grades_negatives() -> None:
    assert found(relevance_level=2) == ("a", "bcdef")


def test_unjudged_documents_may_be_left_out_and_grades_below_zero_are_unjudged() -> None:
    assert found(unjudged=False) == ("af", "b")


def test_ranks_bound_the_negatives_alone() -> None:
    assert found(ranks=(3, 4)) == ("af", "cd")


def test_dropped_judgments_may_be_negatives_or_not() -> None:
    dropped = {"dropped": {"q": {"c": 1, "e": 0}}}
    assert found(sources=dropped) == ("af", "bcde")
    assert found(sources=dropped, dropped=False) == ("af", "bd")
    assert found(sources=dropped, unjudged=False) == ("af", "b")


def test_negatives_of_a_model_are_those_that_it_ranks_high() -> None:
    model = {"model_run": run_of(q="zgaybx")}
    assert found(sources=model, negatives="model", ranks=(1, 5)) == ("af", "zyb")


def test_random_negatives_come_from_the_whole_collection() -> None:
    collection = {"doc_ids": list("abcdefghij")}
    assert found(sources=collection, negatives="random") == ("af", "bcdehij")
    assert found(sources=collection, negatives="random", unjudged=False) == ("af", "b")
    assert found(None, sources=collection, negatives="random", in_run=False) == ("afg", "bcdehij")


def test_queries_that_cannot_be_trained_on_are_counted() -> None:
    notes = Notes()
    qrels = {"a": {"d": 1}, "b": {"d": 1}, "c": {}, "e": {"d": 0}, "f": {"x": 1}}
    run = run_of(a="dx", e="dx", f="x")
    kept = find_candidates(["f", "e", "c", "b", "a", "zz"], Sources(qrels, run), CandidateOptions(), notes)
    assert [one.query_id for one in kept] == ["a", "e", "f"]
    assert [one.query_id for one in with_both_sides(kept, 1, notes)] == ["a"]
    assert notes["queries without judgments, not trained on"] == 2
    assert notes["queries that the run lacks, not trained on"] == 1
    assert notes["queries without a relevant document to find, not trained on"] == 1
    assert notes["queries without a document that may be a negative, not trained on"] == 1


def test_nothing_to_train_on_is_an_error() -> None:
    with pytest.raises(InputError, match="none of 1 judged queries has a relevant document and 3 documents"):
        with_both_sides([Candidates("q", ("a",), ("b", "c"))], 3, Notes())


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"relevance_level": 0}, "relevance_level must be at least 1"),
        ({"depth": 0}, "depth must be at least 1"),
        ({"ranks": (0, 4)}, "ranks are a first and a last rank"),
        ({"ranks": (5, 4)}, "ranks are a first and a last rank"),
        ({"negatives": "rand"}, "did you mean 'random'"),
        ({"negatives": "random", "ranks": (1, 2)}, "random negatives have no ranks"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], what: str) -> None:
    with pytest.raises(InputError, match=what):
        CandidateOptions(**options)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"negatives": "model"}, "negatives of a model need its run"),
        ({"negatives": "random"}, "need the ids of the collection"),
    ],
)
def test_a_source_that_is_missing_is_named(options: dict[str, Any], what: str) -> None:
    with pytest.raises(InputError, match=what):
        found(**options)


def test_a_missing_run_is_named() -> None:
    with pytest.raises(InputError, match="positives that are in the run need a run"):
        found(None)
    with pytest.raises(InputError, match="negatives of the run need a run"):
        found(None, in_run=False)


@given(st.sets(st.integers(0, 30)), st.integers(31, 40))
def test_a_sequence_without_some_places_is_what_is_left(places: set[int], n: int) -> None:
    items = [str(i) for i in range(n)]
    left = [item for i, item in enumerate(items) if i not in places]
    view = Remaining(items, places)
    assert [view[i] for i in range(len(view))] == left == list(view)
    assert view[-1] == left[-1]
    assert view[1:5] == tuple(left[1:5])
    with pytest.raises(IndexError):
        view[len(left)]
