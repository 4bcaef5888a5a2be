from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longrank.errors import InputError
from longrank.training.candidates import CandidateOptions, Sources
from longrank.training.samples import SAMPLES, Group, Samples, make_samples
from longrank.types import Notes, Run, ScoredDoc

QUERIES = [f"q{i}" for i in range(6)]
RUN = Run("t", [ScoredDoc(q, f"{q}d{i}", -i) for q in QUERIES for i in range(10)])
QRELS = {q: {f"{q}d{i}": int(i < 2) for i in range(4)} for q in QUERIES}  # d0, d1 relevant; d2, d3 not; others unjudged


def samples(kind: str = "pairs", *, seed: int = 42, queries: list[str] = QUERIES, n: int | None = None) -> Samples:
    options = CandidateOptions()
    return make_samples(kind, queries, Sources(QRELS, RUN), options, seed=seed, notes=Notes(), n_negatives=n)


def test_a_pair_is_a_relevant_document_and_another_of_the_same_query() -> None:
    pairs = samples()
    for n in range(200):
        query_id, (positive, negative), labels = pairs[n]
        assert positive in {f"{query_id}d0", f"{query_id}d1"}
        assert negative in {f"{query_id}d{i}" for i in range(2, 10)}
        assert labels == (1.0, 0.0)


def test_a_pass_has_every_query_once_and_each_pass_another_order() -> None:
    pairs = samples()
    assert len(pairs) == 6
    passes = [[pairs[n].query_id for n in range(6 * turn, 6 * turn + 6)] for turn in range(20)]
    assert all(sorted(one) == QUERIES for one in passes)
    assert len({tuple(one) for one in passes}) > 15


def test_every_positive_and_every_negative_is_as_likely() -> None:
    pairs = samples()
    drawn = [pairs[n].doc_ids for n in range(4800) if pairs[n].query_id == "q3"]
    positives, negatives = Counter(pair[0] for pair in drawn), Counter(pair[1] for pair in drawn)
    assert positives.keys() == {"q3d0", "q3d1"}
    assert all(350 < count < 450 for count in positives.values())
    assert len(negatives) == 8
    assert all(70 < count < 130 for count in negatives.values())


def test_a_group_has_different_negatives() -> None:
    groups = samples("groups", n=3)
    for n in range(100):
        query_id, doc_ids, labels = groups[n]
        assert len(set(doc_ids)) == 4
        assert labels == (1.0, 0.0, 0.0, 0.0)
        assert {doc_id[:2] for doc_id in doc_ids} == {query_id}


def test_a_group_has_seven_negatives_unless_told_otherwise() -> None:
    assert len(samples("groups")[0].doc_ids) == 8


def test_pointwise_samples_are_every_candidate_once_a_pass() -> None:
    points = samples("pointwise")
    assert len(points) == 60
    for turn in (0, 7):
        drawn = [points[60 * turn + n] for n in range(60)]
        assert {one.doc_ids[0] for one in drawn} == {f"{q}d{i}" for q in QUERIES for i in range(10)}
        assert sum(one.labels[0] for one in drawn) == 12
        assert all((one.labels == (1.0,)) == (one.doc_ids[0][2:] in {"d0", "d1"}) for one in drawn)
        assert all(one.doc_ids[0].startswith(one.query_id) for one in drawn)


def test_pointwise_samples_keep_queries_with_one_side_and_count_those_without_any() -> None:
    qrels = {"a": {"x": 0}, "b": {"x": 1}, "c": {"x": 0}}
    run = Run("t", [ScoredDoc("a", "x", 1), ScoredDoc("b", "x", 1), ScoredDoc("c", "y", 1)])
    notes = Notes()
    options = CandidateOptions(unjudged=False)
    points = make_samples("pointwise", "abc", Sources(qrels, run), options, seed=1, notes=notes)
    assert sorted([points[0], points[1]]) == [Group("a", ("x",), (0.0,)), Group("b", ("x",), (1.0,))]
    assert notes["queries without a candidate, not trained on"] == 1


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_order_of_access_and_of_the_queries_does_not_matter(kind: str) -> None:
    straight = [samples(kind)[n] for n in range(150)]
    other = samples(kind, queries=QUERIES[::-1])
    assert [other[n] for n in reversed(range(150))] == straight[::-1]


@pytest.mark.parametrize("kind", SAMPLES)
def test_another_seed_gives_other_samples(kind: str) -> None:
    assert [samples(kind)[n] for n in range(20)] != [samples(kind, seed=43)[n] for n in range(20)]


def test_samples_stay_what_they_were() -> None:
    assert [samples()[n] for n in (0, 5, 1000)] == [
        Group("q2", ("q2d0", "q2d6"), (1.0, 0.0)),
        Group("q1", ("q1d0", "q1d3"), (1.0, 0.0)),
        Group("q5", ("q5d0", "q5d5"), (1.0, 0.0)),
    ]
    assert samples("pointwise")[3] == Group("q3", ("q3d8",), (0.0,))


def test_passes_do_not_end() -> None:
    pairs = samples()
    assert [pairs[n] for n in range(15)] == list(islice(iter(pairs), 15))  # type: ignore[call-overload]
    assert pairs[10**12].query_id in QUERIES


@given(st.integers(-(10**6), -1))
def test_there_is_nothing_before_the_first(n: int) -> None:
    with pytest.raises(IndexError):
        samples()[n]


@pytest.mark.parametrize(
    ("given_", "what"),
    [
        ({"kind": "pair"}, "did you mean 'pairs'"),
        ({"kind": "pairs", "n": 3}, "take no number of negatives"),
        ({"kind": "groups", "n": 0}, "a group needs at least one negative"),
        ({"kind": "groups", "n": 9}, "none of 6 judged queries has a relevant document and 9 documents"),
        ({"kind": "pairs", "queries": ["unknown"]}, "none of 0 judged queries"),
        ({"kind": "pointwise", "queries": ["unknown"]}, "none of 0 judged queries"),
    ],
)
def test_what_cannot_be_sampled_is_refused(given_: dict[str, Any], what: str) -> None:
    with pytest.raises(InputError, match=what):
        samples(**given_)


def test_pointwise_samples_of_a_whole_collection_are_refused() -> None:
    sources, options = Sources(QRELS, RUN, doc_ids=["q0d0"]), CandidateOptions(negatives="random")
    with pytest.raises(InputError, match="pointwise samples are candidates of a run"):
        make_samples("pointwise", QUERIES, sources, options, seed=1, notes=Notes())
