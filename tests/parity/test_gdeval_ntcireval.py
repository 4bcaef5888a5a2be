"""Graded measures by their definitions, computed by hand: gdeval's (TREC Web tracks) and NTCIREVAL's."""

from __future__ import annotations

import math

import pytest

from longrank.errors import InputError
from longrank.evaluation.measures import evaluate
from longrank.evaluation.names import parse_measure
from longrank.types import Run, ScoredDoc


def values(judged: dict[str, int], ranking: str, *measures: str) -> list[float]:
    """The values of a ranking whose documents are letters."""
    run = Run("run", [ScoredDoc("q", doc_id, -float(rank)) for rank, doc_id in enumerate(ranking)])
    found = evaluate({"q": judged}, run, measures)
    return [found[str(parse_measure(name))]["q"] for name in measures]


# --- gdeval: gain 2^grade - 1, stopping probability gain / 16, five decimals ---------------------

GRADED = {"a": 2, "b": 0, "c": 4, "d": 1}


@pytest.mark.parametrize(
    ("ranking", "expected"),
    [
        ("c", 15 / 16),
        ("d", 1 / 16),
        ("b", 0.0),
        ("x", 0.0),
        ("abc", 3 / 16 + 13 / 16 * 15 / 16 / 3),
        ("xdac", 1 / 16 / 2 + 15 / 16 * 3 / 16 / 3 + 15 / 16 * 13 / 16 * 15 / 16 / 4),
    ],
)
def test_err_is_gdevals(ranking: str, expected: float) -> None:
    assert values(GRADED, ranking, "ERR@20") == pytest.approx([expected], abs=5.1e-6)


def test_err_stops_at_its_cutoff() -> None:
    assert values(GRADED, "bac", "ERR@2", "ERR@3") == pytest.approx(
        [3 / 16 / 2, 3 / 16 / 2 + 13 / 16 * 15 / 16 / 3], abs=5.1e-6
    )


EXPONENTIAL = "nDCG(dcg='exp-log2')@"


@pytest.mark.parametrize(
    ("ranking", "cutoff", "expected"),
    [
        ("abc", 3, (3 + 15 / 2) / (15 + 3 / math.log2(3) + 1 / 2)),
        ("abc", 2, 3 / (15 + 3 / math.log2(3))),
        ("cad", 20, 1.0),
        ("xxb", 20, 0.0),
        ("xd", 20, 1 / math.log2(3) / (15 + 3 / math.log2(3) + 1 / 2)),
    ],
)
def test_exponential_ndcg_is_gdevals(ranking: str, cutoff: int, expected: float) -> None:
    assert values(GRADED, ranking.replace("xx", "xy"), f"{EXPONENTIAL}{cutoff}") == pytest.approx(
        [expected], abs=5.1e-6
    )


def test_linear_ndcg_of_the_same_ranking_is_another_number() -> None:
    linear = (2 + 4 / 2) / (4 + 2 / math.log2(3) + 1 / 2)
    assert values(GRADED, "abc", "nDCG@3") == pytest.approx([linear], abs=1e-9)


def test_a_negative_grade_gains_nothing() -> None:
    judged = {"a": -2, "b": 2}
    assert values(judged, "ab", "ERR@20", f"{EXPONENTIAL}20", "Q@10", "nERR@10") == pytest.approx(
        [3 / 32, 1 / math.log2(3), (1 + 2) / (2 + 2), 1 / 2], abs=5.1e-6
    )


# --- NTCIREVAL: gain x for grade x --------------------------------------------------------------

SAMPLE = {"a": 3, "b": 3, "c": 3, "d": 2, "e": 2, "f": 2, "g": 1, "h": 1, "i": 1, "j": 1, "k": 0}


def test_the_sample_of_ntcirevals_readme_has_the_values_that_it_prints() -> None:
    """ntcir_eval compute -g 1:2:3 on a ranking of a nonrelevant, an L3, an unjudged and an L2 document."""
    expected = {
        **{"Q": 0.0967, "Q@1000": 0.0967, "nERR(top=3)@1000": 0.4710, "nDCG@1000": 0.2760, "AP": 0.1000},
        **{"Q@2": 0.2500, "nERR(top=3)@2": 0.4444, "nDCG@2": 0.3869},  # -cutoffs 2; nDCG is its MSnDCG
    }
    assert values(SAMPLE, "kaxd", *expected) == pytest.approx(list(expected.values()), abs=5.1e-5)


@pytest.mark.parametrize(
    ("ranking", "expected"),
    [
        ("ab", ((1 + 4) / (1 + 4) + (2 + 6) / (2 + 6)) / 3),
        ("ba", ((1 + 2) / (1 + 4) + (2 + 6) / (2 + 6)) / 3),
        ("xa", (1 + 4) / (2 + 6) / 3),
        ("xyzwc", (1 + 1) / (5 + 7) / 3),  # no more gain below the third of the ideal ranking
        ("xyzwvutsrqa", 0.0),  # at rank 11
        ("x", 0.0),
    ],
)
def test_q_at_10_is_the_mean_blended_ratio(ranking: str, expected: float) -> None:
    assert values({"a": 4, "b": 2, "c": 1, "x": 0}, ranking, "Q@10") == pytest.approx([expected], abs=1e-12)


def test_q_is_over_at_most_the_cutoff_and_without_gains_average_precision() -> None:
    assert values({"a": 1, "b": 1, "c": 1}, "ab", "Q@1", "Q@2", "Q@10") == pytest.approx([1.0, 1.0, 2 / 3])
    assert values(SAMPLE, "kaxdgb", "Q(beta=0.0)") == pytest.approx(values(SAMPLE, "kaxdgb", "AP"))


@pytest.mark.parametrize(
    ("ranking", "expected"),
    [
        ("a", 4 / 5),
        ("b", 2 / 5),
        ("xb", 2 / 5 / 2),
        ("ba", 2 / 5 + 3 / 5 * 4 / 5 / 2),
        ("xyzwvutsrqa", 0.0),
    ],
)
def test_nerr_at_10_is_expected_reciprocal_rank_over_that_of_the_ideal_ranking(ranking: str, expected: float) -> None:
    ideal = 4 / 5 + 1 / 5 * 2 / 5 / 2
    assert values({"a": 4, "b": 2, "x": 0}, ranking, "nERR@10") == pytest.approx([expected / ideal], abs=1e-12)


def test_nothing_relevant_is_zero() -> None:
    assert values({"a": 0, "b": -1}, "ab", "Q@10", "nERR@10", "ERR@10") == [0.0, 0.0, 0.0]
    assert evaluate({"q": {"a": 1}, "missed": {"a": 1}}, Run("run", [ScoredDoc("q", "a", 1.0)]), ["Q@10"]) == {
        "Q@10": {"q": 1.0, "missed": 0.0}
    }


def test_a_grade_above_the_scale_is_refused() -> None:
    with pytest.raises(InputError, match=r"grade of document 'a' for query 'q' is beyond 2, the highest grade of nERR"):
        values({"a": 3}, "a", "nERR(top=2)@10")
    with pytest.raises(InputError, match="top of nERR must be between 1 and 127"):
        parse_measure("nERR(top=0)@10")
