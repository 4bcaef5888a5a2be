from __future__ import annotations

from math import ceil, floor
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from longrank.errors import InputError
from longrank.evaluation.folds import make_folds
from longrank.formats.folds import Fold, read_folds
from longrank.formats.trec import read_qrels
from longrank.training.judgments import SCHEMES, Sampled, sample_judgments
from longrank.types import Notes, Qrels


def qrels_of(*sizes: int) -> dict[str, dict[str, int]]:
    return {f"q{i}": {f"d{j}": j % 2 for j in range(size)} for i, size in enumerate(sizes)}


def count(qrels: Qrels) -> int:
    return sum(map(len, qrels.values()))


def sampled(
    qrels: dict[str, dict[str, int]], rate: float, scheme: str, folds: dict[str, Fold] | None = None, seed: int = 42
) -> Sampled:
    return sample_judgments(qrels, rate, scheme=scheme, seed=seed, notes=Notes(), folds=folds)


def test_deep_keeps_whole_queries_until_there_are_enough_judgments() -> None:
    sizes = {query_id: len(docs) for query_id, docs in sampled(qrels_of(*[10] * 10), 0.3, "deep").qrels.items()}
    assert list(sizes.values()) == [10, 10, 10]


def test_deep_adds_queries_while_there_are_too_few_and_trims_what_is_too_much() -> None:
    # floor(.5 * 16) = 8 of one query of 10 and six of 1; ceil(.5 * 7) = 4 queries come first
    for seed in range(20):
        kept = sampled(qrels_of(10, 1, 1, 1, 1, 1, 1), 0.5, "deep", seed=seed).qrels
        assert count(kept) == 8
        assert "q0" in kept  # the six others have six
        assert len(kept["q0"]) == 8 - (len(kept) - 1)


def test_shallow_keeps_about_the_same_share_of_every_query() -> None:
    # ceil(.5 * 3) = 2 of each of four queries is 8; floor(.5 * 12) = 6: two queries lose one more
    kept = sampled(qrels_of(3, 3, 3, 3), 0.5, "shallow").qrels
    assert sorted(map(len, kept.values())) == [1, 1, 2, 2]


def test_queries_of_one_judgment_are_dropped_whole_and_evenly() -> None:
    # ceil(.5 * 5) = 3 of each of four parts are 12 queries, floor(.5 * 20) = 10: two parts lose one
    qrels = qrels_of(*[1] * 20)
    folds = make_folds(list(qrels), 4, seed=7)
    kept = sampled(qrels, 0.5, "deep", folds).qrels
    assert sorted(len(kept.keys() & set(fold.test)) for fold in folds.values()) == [2, 2, 3, 3]


def test_what_is_not_kept_is_dropped_and_nothing_else_changes() -> None:
    qrels = qrels_of(5, 7, 3)
    for scheme in SCHEMES:
        kept, dropped, _ = sampled(qrels, 0.4, scheme)
        for query_id, docs in qrels.items():
            assert not kept.get(query_id, {}).keys() & dropped.get(query_id, {}).keys()
            assert {**kept.get(query_id, {}), **dropped.get(query_id, {})} == docs
            assert list(kept.get(query_id, {})) == [doc_id for doc_id in docs if doc_id in kept.get(query_id, {})]


@pytest.mark.parametrize("scheme", list(SCHEMES))
def test_grades_below_zero_are_no_judgments(scheme: str) -> None:
    judged = qrels_of(4, 8, 5)
    spam = {query_id: {"spam1": -2, **docs, "spam2": -1} for query_id, docs in judged.items()} | {"none": {"d0": -1}}
    folds = {"s1": Fold(("q0", "q1", "none"), ("q2",), ())}
    notes = Notes()
    sample = sample_judgments(spam, 0.5, scheme=scheme, seed=3, notes=notes, folds=folds)
    assert sample == sampled(judged, 0.5, scheme, {"s1": Fold(("q0", "q1"), ("q2",), ())}, seed=3)
    assert notes["queries of the folds without judgments"] == 1


def test_judgments_of_queries_that_are_only_tested_are_left_alone() -> None:
    folds = {"s1": Fold(("q0", "q1"), ("q2",), ("q3",))}
    notes = Notes()
    qrels = qrels_of(4, 4, 4, 100, 7)
    kept, dropped, left = sample_judgments(qrels, 0.5, scheme="shallow", seed=42, notes=notes, folds=folds)
    assert count(kept) == 6
    assert {"q3", "q4"}.isdisjoint(kept.keys() | dropped.keys())
    assert notes["judged queries that no fold trains or chooses on, left out"] == 2
    assert left["s1"].test == ("q3",)


def test_deep_is_even_over_the_parts_of_the_folds() -> None:
    qrels = qrels_of(*[4] * 50)
    folds = make_folds(list(qrels), 5, seed=7)
    kept = sampled(qrels, 0.3, "deep", folds).qrels
    assert [len(kept.keys() & set(fold.test)) for fold in folds.values()] == [3] * 5


def test_deep_adds_a_query_of_every_part_at_once() -> None:
    # as released for Robust04: 16 of each 50 queries at .3, and not 15 and a few more
    qrels = qrels_of(*[9, 10, 11] * 100)
    folds = make_folds(list(qrels), 5, seed=7)
    kept = sampled(qrels, 0.301, "deep", folds).qrels
    assert len({len(kept.keys() & set(fold.test)) for fold in folds.values()}) == 1


def test_the_rate_is_the_decimal_number_it_is_written_as() -> None:
    # .29 * 100 is 28.999999999999996 in floating point, and ceil(.1 * 30) would be 4
    assert count(sampled(qrels_of(*[10] * 10), 0.29, "deep").qrels) == 29
    assert len(sampled(qrels_of(*[1] * 30), 0.1, "deep").qrels) == 3


def test_a_query_of_the_folds_without_judgments_is_counted() -> None:
    notes = Notes()
    folds = {"s1": Fold(("q0", "q9"), ("q1",), ("q2",))}
    left = sample_judgments(qrels_of(2, 2, 2), 1, scheme="deep", seed=1, notes=notes, folds=folds).folds
    assert left == {"s1": Fold(("q0",), ("q1",), ("q2",))}
    assert notes["queries of the folds without judgments"] == 1


SIZES = st.lists(st.integers(1, 30), min_size=6, max_size=25)
RATES = st.integers(1, 100).map(lambda percent: percent / 100)


@pytest.mark.parametrize("scheme", SCHEMES)
@given(sizes=SIZES, rate=RATES, seed=st.integers(0, 5), n=st.integers(2, 5))
def test_exactly_the_floor_is_kept_and_tests_stay_as_they_were(
    scheme: str, sizes: list[int], rate: float, seed: int, n: int
) -> None:
    qrels, wanted = qrels_of(*sizes), floor(round(rate * 100) * sum(sizes) / 100)
    assume(wanted >= (len(sizes) if scheme == "shallow" else 1))
    folds = make_folds(list(qrels), n, seed)
    kept, dropped, left = sampled(qrels, rate, scheme, folds, seed)
    assert count(kept) == wanted
    assert count(dropped) == sum(sizes) - wanted
    assert all(set(docs) <= set(qrels[query_id]) for query_id, docs in kept.items())
    assert kept.keys() == qrels.keys() if scheme == "shallow" else kept.keys() <= qrels.keys()
    for name, fold in folds.items():
        assert left[name].test == fold.test
        assert left[name].train == tuple(q for q in fold.train if q in kept)
        assert left[name].dev == tuple(q for q in fold.dev if q in kept)


@given(sizes=SIZES, rate=RATES)
def test_shallow_refuses_exactly_the_rates_that_cannot_keep_every_query(sizes: list[int], rate: float) -> None:
    if round(rate * 100) * sum(sizes) // 100 < len(sizes):
        with pytest.raises(InputError, match=r"cannot leave one to each of|keeps none of"):
            sampled(qrels_of(*sizes), rate, "shallow")
    else:
        assert len(sampled(qrels_of(*sizes), rate, "shallow").qrels) == len(sizes)


@given(sizes=SIZES, seed=st.integers(0, 5))
def test_deep_samples_of_lower_rates_have_no_query_that_higher_rates_lack(sizes: list[int], seed: int) -> None:
    qrels = qrels_of(*sizes)
    kept = [sampled(qrels, rate, "deep", seed=seed).qrels.keys() for rate in (0.3, 0.6, 0.9)]
    assert kept[0] <= kept[1] <= kept[2]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_samples_depend_on_the_seed_and_not_on_the_order_of_the_judgments(scheme: str) -> None:
    qrels = qrels_of(9, 8, 7, 6, 9, 8)
    turned = {query_id: dict(reversed(docs.items())) for query_id, docs in reversed(qrels.items())}
    assert sampled(qrels, 0.5, scheme).qrels == sampled(turned, 0.5, scheme).qrels
    assert sampled(qrels, 0.5, scheme).qrels != sampled(qrels, 0.5, scheme, seed=43).qrels


def test_samples_stay_what_they_were() -> None:
    assert sampled(qrels_of(3, 3, 3), 0.5, "shallow").qrels == {
        "q0": {"d0": 0, "d2": 0},
        "q1": {"d0": 0},
        "q2": {"d1": 1},
    }
    assert sampled(qrels_of(3, 3, 3), 0.5, "deep").qrels == {"q0": {"d0": 0, "d2": 0}, "q1": {"d0": 0, "d1": 1}}


@pytest.mark.parametrize(
    ("rate", "scheme", "what"),
    [
        (0.5, "depp", "did you mean 'deep'"),
        (0, "deep", "over 0 and at most 1"),
        (1.01, "deep", "over 0 and at most 1"),
        (float("nan"), "deep", "over 0 and at most 1"),
        (0.1, "deep", "keeps none of the 9 judgments"),
        (0.3, "shallow", r"2 judgments cannot leave one to each of 3 queries \(got 0.3\); .* 3/9 or more"),
    ],
)
def test_rates_and_schemes_that_do_not_work_are_refused(rate: float, scheme: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        sampled(qrels_of(3, 3, 3), rate, scheme)


# --- the collection that the paper sampled -------------------------------------------------------

RELEASED = {0.1: (13_535, 20), 0.3: (40_605, 51), 0.5: (67_676, 83), 0.7: (94_746, 114), 0.9: (121_816, 140)}
"""rate -> judgments and queries of the deep GOV2 samples that the paper's authors released."""


@pytest.fixture(scope="module")
def gov2(shared_data: Path) -> dict[str, dict[str, int]]:
    folder = shared_data / "trec-topics-qrels" / "qrels"
    names = ("terabyte04.701-750", "terabyte05.751-800", "terabyte06.801-850")
    joined = [read_qrels(folder / f"qrels.{name}.txt", Notes()) for name in names]
    return {query_id: docs for qrels in joined for query_id, docs in qrels.items()}


def test_gov2_has_the_judgments_that_the_paper_counts(gov2: dict[str, dict[str, int]]) -> None:
    assert len(gov2) == 149
    assert count(gov2) == 135_352


@pytest.mark.parametrize("rate", RELEASED)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_gov2_samples_have_exactly_the_released_sizes(
    gov2: dict[str, dict[str, int]], shared_data: Path, scheme: str, rate: float
) -> None:
    folds = read_folds(shared_data / "trec-topics-qrels" / "folds" / "capreolus.gov2_maxp_folds.json", Notes())
    judgments, queries = RELEASED[rate]
    kept = sampled(gov2, rate, scheme, folds).qrels
    assert count(kept) == judgments
    if scheme == "shallow":
        assert len(kept) == 149
    else:  # queries differ in judgments, so more than the share are needed, and how many depends on the draw
        assert ceil(rate * 149 - 1e-9) <= len(kept) <= 1.1 * rate * 149
        assert 0 <= queries - len(kept) < 10
