"""Verdicts and p values, computed by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest
from scipy.stats import ttest_rel

from longrank.errors import LongRankError
from longrank.reproduction.recipe import Recipe
from longrank.reproduction.results import departures, inputs_given, lines
from longrank.reproduction.rows import ObtainedRow


def recipe(**more: Any) -> Recipe:
    given = {
        "paper": "MAXP",
        "item": "Table 9",
        "about": "made up",
        "collection": "tiny",
        "measures": ["AP"],
        "quantities": ["ms", "millions"],
        "expected": [{"row": "one", "values": {"AP": 0.25}}],
    }
    return Recipe.model_validate({**given, **more})


def verdict_of(
    published: Mapping[str, float], obtained: Mapping[str, float], *, comparable: bool = True, **more: Any
) -> Any:
    said = recipe(expected=[{"row": "one", "values": published, **more.pop("row", {})}], **more)
    return dict(lines(said, [ObtainedRow("one", obtained)], comparable)[0].verdicts)


@pytest.mark.parametrize(
    ("obtained", "verdict"),
    [(0.25, "match"), (0.255, "match"), (0.245, "match"), (0.2551, "higher"), (0.2449, "lower")],
)
def test_a_measure_matches_within_five_thousandths(obtained: float, verdict: str) -> None:
    assert verdict_of({"AP": 0.25}, {"AP": obtained}) == {"AP": verdict}


@pytest.mark.parametrize(
    ("published", "obtained", "verdict"),
    [
        (123.0, 123.49, "match"),  # rounds to it
        (123.0, 123.62, "higher"),  # more than .615, half a percent
        (360.0, 361.8, "match"),  # half a percent is 1.8
        (1.14, 1.1449, "match"),
        (1.14, 1.134, "lower"),
    ],
)
def test_a_quantity_matches_if_it_rounds_to_the_published_one_or_within_half_a_percent(
    published: float, obtained: float, verdict: str
) -> None:
    assert verdict_of({"millions": published}, {"millions": obtained}) == {"millions": verdict}


def test_the_row_decides_how_far_a_figure_may_lie_off_before_the_column_and_the_column_before_the_recipe() -> None:
    assert verdict_of({"AP": 0.25}, {"AP": 0.26}, tolerance=0.01) == {"AP": "match"}
    assert verdict_of({"AP": 0.25}, {"AP": 0.26}, tolerances={"AP": 0.001}, tolerance=0.01) == {"AP": "higher"}
    row = {"tolerance": 0.1}
    assert verdict_of({"AP": 0.25}, {"AP": 0.26}, tolerances={"AP": 0.001}, row=row) == {"AP": "match"}
    assert verdict_of({"ms": 7}, {"ms": 9}, tolerances={"ms": 2}) == {"ms": "match"}


def test_nothing_is_judged_where_something_departs_from_the_paper() -> None:
    assert verdict_of({"AP": 0.25}, {"AP": 0.25}, comparable=False) == {"AP": "not comparable here"}


def test_what_depends_on_the_machine_is_never_judged() -> None:
    assert verdict_of({"ms": 7, "millions": 2}, {"ms": 7, "millions": 2}, hardware=["ms"]) == {
        "ms": "not comparable here",
        "millions": "match",
    }


def test_what_no_program_gives_is_not_obtained() -> None:
    assert verdict_of({"AP": 0.25, "ms": 2}, {"AP": 0.25}, comparable=False) == {
        "AP": "not comparable here",
        "ms": "not obtained",
    }
    assert dict(lines(recipe(), [], True)[0].verdicts) == {"AP": "not obtained"}


def test_rows_of_ours_stand_below_those_of_the_paper() -> None:
    found = lines(recipe(), [ObtainedRow("own", {"AP": 1.0}), ObtainedRow("one", {"AP": 0.3})], True)
    assert [(line.name, dict(line.verdicts)) for line in found] == [("one", {"AP": "higher"}), ("own", {})]


def test_a_row_that_two_sources_give_is_obtained_for_both() -> None:
    twice = [{"row": "one", "values": {"AP": 0.3}}, {"row": "one", "source": "survey", "values": {"AP": 0.25}}]
    found = lines(recipe(expected=twice), [ObtainedRow("one", {"AP": 0.3})], True)
    assert [dict(line.verdicts) for line in found] == [{"AP": "match"}, {"AP": "higher"}]


def test_two_rows_of_one_name_are_an_error_of_the_program() -> None:
    with pytest.raises(LongRankError, match="two rows of one name"):
        lines(recipe(), [ObtainedRow("one", {}), ObtainedRow("one", {})], True)


# --- the paper's test ---------------------------------------------------------------------------

BASE = ObtainedRow("base", {"AP": 0.5}, per_query={"AP": {"q1": 0.5, "q2": 0.5, "q3": 0.5}})
NEAR = ObtainedRow("near", {"AP": 0.7}, per_query={"AP": {"q1": 0.6, "q2": 0.7, "q3": 0.8}})
SAME = ObtainedRow("same", {"AP": 0.5}, per_query={"AP": {"q1": 0.5, "q2": 0.5, "q3": 0.5}})

T = 1 - math.sqrt(12) / math.sqrt(14)  # of .1, .2, .3: t = sqrt(12), and with 2 degrees p = 1 - t / sqrt(2 + t^2)


def p_of(rows: list[ObtainedRow], **how: Any) -> dict[str, float | None]:
    said = recipe(significance={"compare_with": "base", **how})
    return {line.name: line.p.get("AP") for line in lines(said, rows, False) if line.name != "one"}


def test_p_is_that_of_the_paired_t_test() -> None:
    assert p_of([BASE, NEAR, SAME]) == {"base": None, "near": pytest.approx(T), "same": 1.0}


def test_bonferroni_counts_the_rows_that_are_compared() -> None:
    assert p_of([BASE, NEAR, SAME], correction="bonferroni") == {
        "base": None,
        "near": pytest.approx(2 * T),
        "same": 1.0,
    }


def test_p_of_the_randomization_test_counts_signs() -> None:
    # Of the 8 ways to sign .1, .2 and .3, all and none of them negative are as far from 0.
    assert p_of([BASE, NEAR], test="randomization") == {"base": None, "near": 2 / 8}


def test_there_is_no_p_where_the_compared_row_is_missing_or_the_paper_has_no_test() -> None:
    assert p_of([NEAR, SAME]) == {"near": None, "same": None}
    assert [dict(line.p) for line in lines(recipe(), [BASE, NEAR], True)] == [{}, {}, {}]


# --- what departs -------------------------------------------------------------------------------


def test_collection_models_and_settings_depart() -> None:
    given = recipe(models={"encoder": "hub/name"}, settings={"k": 3})
    assert departures(given, "tiny", {}, {}) == []
    assert departures(given, "tiny", {"encoder": "hub/name"}, {}) == []
    train = ({"steps": 5, "a": {"b": 1}}, {"steps": 5, "a": {"b": 2}, "more": "x"})
    assert departures(given, "other", {"encoder": "mine"}, {"k": (3, 4), "queries": (0, 9), "train": train}) == [
        "collection other, paper tiny",
        "encoder mine, paper hub/name",
        "k 4, paper 3",
        "queries 9, paper all",
        "train.a.b 2, paper 1",
        "train.more 'x', paper 'none'",
    ]


def test_rows_may_be_compared_with_one_each() -> None:
    values = {"a": [0.1, 0.2, 0.4], "b": [0.2, 0.5, 0.5], "c": [0.4, 0.3, 0.2], "d": [0.5, 0.9, 0.6]}
    rows = [
        ObtainedRow(name, {"AP": 0.3}, per_query={"AP": dict(enumerate(map(float, own)))})
        for name, own in values.items()
    ]
    expected = [{"row": name, "values": {"AP": 0.3}} for name in (*values, "missing")]
    said = recipe(expected=expected, significance={"compare_with": {"b": "a", "d": "c", "a": "missing"}})
    found = {line.name: line.p for line in lines(said, rows, True) if line.p}
    assert found == {
        "b": {"AP": pytest.approx(ttest_rel(values["b"], values["a"]).pvalue)},
        "d": {"AP": pytest.approx(ttest_rel(values["d"], values["c"]).pvalue)},
    }


def test_inputs_that_a_recipe_leaves_open_are_given_and_do_not_depart() -> None:
    changes = {"heldout": ("", "topics-2003"), "expansions": ([], ["a.jsonl"]), "k": (0, 4), "grid": ({}, {"b": "0:1"})}
    assert departures(recipe(), "tiny", {}, changes) == ["k 4, paper 0", "grid.b '0:1', paper 'none'"]
    assert inputs_given(recipe(), changes) == ["heldout 'topics-2003'", 'expansions ["a.jsonl"]']
    named = {"passages": ("passage_qrels.txt", "fira.txt")}
    assert departures(recipe(), "tiny", {}, named) == [] and inputs_given(recipe(), named) == ["passages 'fira.txt'"]
    lengths = {"passages": ([2, 8], [2, 4])}
    assert departures(recipe(), "tiny", {}, lengths) and inputs_given(recipe(), lengths) == []


def test_an_empty_setting_that_would_be_another_protocol_departs() -> None:
    changed, weighed = {"learn_on": ("", "other")}, recipe().model_copy(update={"protocol": ["learn_on"]})
    assert departures(weighed, "tiny", {}, changed) == ["learn_on 'other', paper none"]
    assert inputs_given(weighed, changed) == []
