"""Each protocol on tables whose optima can be read off."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from longrank.errors import InputError
from longrank.evaluation.tuning.grids import Setting
from longrank.evaluation.tuning.protocols import PROTOCOLS, OnAll, OnFolds, OnSamples
from longrank.evaluation.tuning.rules import RULES
from longrank.evaluation.tuning.values import GridValues, Outcome
from longrank.formats.folds import Fold
from longrank.types import Notes

B = (0.2, 0.4, 0.6)


def table(*rows: Sequence[float], ids: Sequence[str] | None = None) -> GridValues:
    """A row of values per setting of b."""
    query_ids = tuple(ids or (f"q{i}" for i in range(1, len(rows[0]) + 1)))
    return GridValues("AP", [{"b": b} for b in B[: len(rows)]], query_ids, np.array(rows, float))


def unmeasured(setting: Setting, query_ids: Sequence[str]) -> float:
    raise AssertionError("nothing off the table is needed")


def concluded(protocol: OnAll | OnFolds, values: GridValues) -> Outcome:
    return protocol.conclude(values, protocol.choose(values), unmeasured)


# --- all ----------------------------------------------------------------------------------------


def test_the_optimum_over_all_queries_is_reported_as_no_test() -> None:
    outcome = concluded(OnAll(), table([0.2, 0.4], [0.5, 0.5], [0.9, 0.0]))
    assert (outcome.setting, outcome.value, outcome.held_out) == ({"b": 0.4}, 0.5, False)
    assert "chosen and reported on the same queries" in outcome.remark
    assert outcome.setting_of == {"q1": {"b": 0.4}, "q2": {"b": 0.4}}


def test_of_equal_settings_the_first_wins() -> None:
    assert concluded(OnAll(), table([0.1, 0.1], [0.5, 0.7], [0.7, 0.5])).setting == {"b": 0.4}


def test_sums_are_exact_so_that_their_order_decides_nothing() -> None:
    values = table([0.1, 0.2, 0.3], [0.3, 0.2, 0.1])
    assert sum(values.values[0]) != sum(values.values[1])  # as plain floats
    assert values.best(values.query_ids) == 0


# --- samples ------------------------------------------------------------------------------------

MANY = [f"q{i}" for i in range(40)]


def test_the_mean_of_the_optima_is_measured_on_the_queries_of_no_sample() -> None:
    rng = np.random.default_rng(1)
    values = table(*rng.random((3, 40)), ids=MANY)
    protocol = OnSamples(5, 4, seed=42)
    choices = protocol.choose(values)
    for choice in choices:
        columns = [MANY.index(query_id) for query_id in choice.chosen_on]
        assert len(columns) == 4
        assert choice.setting == int(np.argmax(values.values[:, columns].mean(axis=1)))
    asked: list[tuple[Setting, Sequence[str]]] = []
    outcome = protocol.conclude(values, choices, lambda *what: asked.append(what) or 0.5)  # type: ignore[func-returns-value]
    outside = [query_id for query_id in MANY if not any(query_id in choice.chosen_on for choice in choices)]
    mean = sum(B[choice.setting] for choice in choices) / 5
    assert outcome.setting == {"b": pytest.approx(mean)}
    assert [list(query_ids) for _, query_ids in asked] == [outside] == [list(outcome.setting_of)]
    assert (outcome.value, outcome.held_out) == (0.5, True)
    assert f"tested on the {len(outside)} queries" in outcome.remark


def test_the_known_optimum_of_every_sample_is_their_mean() -> None:
    values = table([0.1] * 40, [0.9] * 40, [0.5] * 40, ids=MANY)
    protocol = OnSamples(3, 7, seed=1)
    assert protocol.conclude(values, protocol.choose(values), lambda *_: 0.9).setting == {"b": 0.4}


def test_without_a_query_outside_the_samples_nothing_is_called_held_out() -> None:
    values = table([0.1, 0.3], [0.3, 0.2])
    protocol = OnSamples(2, 2, seed=1)
    outcome = protocol.conclude(values, protocol.choose(values), lambda setting, query_ids: float(len(query_ids)))
    assert (outcome.value, outcome.held_out) == (2.0, False)
    assert "on queries that it was chosen on" in outcome.remark


def test_samples_are_independent_and_a_function_of_seed_and_id() -> None:
    def samples(ids: Sequence[str], seed: int = 42) -> list[set[str]]:
        return [set(c.chosen_on) for c in OnSamples(4, 10, seed).choose(table([0.0] * 40, ids=ids))]

    drawn = samples(MANY)
    assert drawn == samples(MANY[::-1])
    assert len({frozenset(sample) for sample in drawn}) == 4
    assert drawn != samples(MANY, seed=43)
    assert any(one & other for one in drawn for other in drawn if one is not other)


@pytest.mark.parametrize(("n", "size", "message"), [(0, 1, "at least 1"), (5, 0, "between 1 and 2"), (5, 3, "1 and 2")])
def test_samples_that_cannot_be_drawn_are_refused(n: int, size: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        OnSamples(n, size, 42).choose(table([0.0, 0.0]))


# --- folds --------------------------------------------------------------------------------------

THREE = {
    "s1": Fold(("q3",), ("q2",), ("q1",)),
    "s2": Fold(("q1",), ("q3",), ("q2",)),
    "s3": Fold(("q2",), ("q1",), ("q3",)),
}


def test_each_fold_is_tested_with_what_the_others_chose() -> None:
    values = table([0.9, 0.3, 0.1], [0.2, 0.5, 0.4], [0.0, 0.1, 0.6])
    outcome = concluded(OnFolds(THREE, "rest", Notes()), values)
    # s1: q2+q3 .4 .9 .7 -> .4; s2: q1+q3 1.0 .6 .6 -> .2; s3: q1+q2 1.2 .7 .1 -> .2
    assert {q: setting["b"] for q, setting in outcome.setting_of.items()} == {"q1": 0.4, "q2": 0.2, "q3": 0.2}
    assert outcome.value == pytest.approx((0.2 + 0.3 + 0.1) / 3)
    assert (outcome.setting, outcome.held_out) == (None, True)


def test_dev_alone_can_choose() -> None:
    values = table([0.9, 0.3, 0.1], [0.2, 0.5, 0.4], [0.0, 0.1, 0.6])
    outcome = concluded(OnFolds(THREE, "dev", Notes()), values)
    assert {q: setting["b"] for q, setting in outcome.setting_of.items()} == {"q1": 0.4, "q2": 0.6, "q3": 0.2}


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_finds_an_optimum_that_all_queries_share(rule: str) -> None:
    values = table([0.1, 0.2, 0.3], [0.7, 0.8, 0.9], [0.4, 0.5, 0.6])
    outcome = concluded(OnFolds(THREE, rule, Notes()), values)
    assert [choice.setting for choice in outcome.choices] == [1, 1, 1]
    assert outcome.value == pytest.approx(0.8)


def test_yang19_adds_means_of_folds_of_unequal_size() -> None:
    folds = {
        "s1": Fold(("q2", "q3", "q4"), ("q5",), ("q1",)),
        "s2": Fold(("q1",), ("q5",), ("q2", "q3", "q4")),
        "s3": Fold(("q1",), ("q2", "q3", "q4"), ("q5",)),
    }
    values = table([0.0, 0.4, 0.4, 0.4, 0.0], [0.0, 0.1, 0.1, 0.1, 0.6])
    # over the queries of s2 and s3: 1.2 to 0.9; as the sum of two means: .4 to .7
    rest, yang19 = (OnFolds(folds, rule, Notes()).choose(values)[0] for rule in ("rest", "yang19"))
    assert (rest.setting, yang19.setting) == (0, 1)
    assert set(rest.chosen_on) == set(yang19.chosen_on) == {"q2", "q3", "q4", "q5"}


def test_yang19_reads_four_decimals_and_gives_ties_to_the_larger_text() -> None:
    settings = [{"k1": 0.9, "n": 5}, {"k1": 0.9, "n": 10}, {"k1": 0.8, "n": 9}]  # k1:0.9,n:5 is the largest text
    values = GridValues("AP", settings, ("q1", "q2", "q3"), np.array([[0.3] * 3, [0.30001] * 3, [0.3] * 3]))
    assert [c.setting for c in OnFolds(THREE, "yang19", Notes()).choose(values)] == [0, 0, 0]
    assert [c.setting for c in OnFolds(THREE, "rest", Notes()).choose(values)] == [1, 1, 1]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((0.0063, 0.0062), (0.0063, 0.0063)),
        ((1 / 160, 1 / 160), (1 / 159, 1 / 159)),
    ],  # trec_eval prints .0063 for 1/160
)
def test_yang19_rounds_as_the_script_and_trec_eval_do(first: Sequence[float], second: Sequence[float]) -> None:
    """A half to four decimals is a number just above or below it in binary: .00625 becomes .0063."""
    folds = {"s1": Fold((), (), ("q1", "q2")), "s2": Fold((), (), ("q3", "q4"))}
    values = table([*first, 0, 0], [*second, 0, 0], ids=("q1", "q2", "q3", "q4"))
    units = [round(round(sum(float(f"{v:.4f}") for v in row) / 2, 4), 4) for row in (first, second)]
    assert units[0] == units[1]  # so the larger text is chosen
    assert OnFolds(folds, "yang19", Notes()).choose(values)[1].setting == 1
    assert RULES["yang19"].best(table([*second, 0, 0], [*first, 0, 0], ids=values.query_ids), "s2", folds) == 1


def test_birch_reads_four_decimals_and_gives_ties_to_the_smallest_second_weight_then_the_first_of_the_grid() -> None:
    settings = [
        {"alpha": alpha, "w2": w2, "w3": w3} for alpha, w2, w3 in ((0.1, 0.2, 0.0), (0.2, 0.1, 0.3), (0.3, 0.1, 0.0))
    ]
    values = GridValues("AP", settings, ("q1", "q2", "q3"), np.array([[0.30004] * 3, [0.30001] * 3, [0.3] * 3]))
    assert [c.setting for c in OnFolds(THREE, "birch", Notes()).choose(values)] == [1, 1, 1]
    assert [c.setting for c in OnFolds(THREE, "rest", Notes()).choose(values)] == [0, 0, 0]


def test_queries_of_folds_that_are_not_measured_are_counted_once_and_left_out() -> None:
    notes = Notes()
    folds = {"s1": Fold(("q3", "q9"), ("q2",), ("q1", "q8")), "s2": Fold(("q1",), ("q8",), ("q2", "q3"))}
    protocol = OnFolds(folds, "rest", notes)
    values = table([0.5] * 3, [0.1] * 3)
    protocol.choose(values)
    outcome = concluded(protocol, values)
    assert [choice.tested_on for choice in outcome.choices] == [("q1",), ("q2", "q3")]
    assert outcome.choices[0].chosen_on == ("q3", "q2")
    assert notes["queries of the folds without text, judgments or results, left out"] == 2


@pytest.mark.parametrize(
    ("folds", "rule", "message"),
    [
        ({"s1": Fold(("q1",), (), ("q2",))}, "rest", "no fold tests query 'q1', which has judgments"),
        ({"s1": Fold(("q9",), (), ("q1", "q2"))}, "rest", "'s1' has no query with judgments to choose on"),
        (
            {"s1": Fold(("q2",), (), ("q1",)), "s2": Fold(("q1",), (), ("q2",))},
            "dev",
            "no query with judgments to choose",
        ),
        ({"s1": Fold((), (), ("q1", "q2"))}, "yang19", "no query with judgments to choose"),
        ({"s1": Fold(("q2",), (), ("q1", "q2"))}, "rest", "tests a query that it also trains"),
        ({"s1": Fold((), ("q1",), ("q2",)), "s2": Fold((), ("q9",), ("q2", "q1"))}, "rest", "both test query 'q2'"),
    ],
)
def test_folds_that_do_not_fit_are_refused(folds: dict[str, Fold], rule: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        OnFolds(folds, rule, Notes()).choose(table([0.0, 0.0]))


# --- every protocol -----------------------------------------------------------------------------


def test_counts_are_summed_not_averaged() -> None:
    values = table([1.0, 2.0], [2.0, 2.0])._replace(measure="NumRet(rel=1)")
    assert concluded(OnAll(), values).value == 4.0
    assert math.isnan(table([1.0]).figure(0, []))


def test_every_protocol_names_itself() -> None:
    protocols = {"all": OnAll(), "samples": OnSamples(1, 1, 1), "folds": OnFolds(THREE, "rest", Notes())}
    assert {name: type(one) for name, one in protocols.items()} == PROTOCOLS
    assert [one.about()["name"] for one in protocols.values()] == list(PROTOCOLS)


@pytest.mark.parametrize("rule", ["rest", "yang19"])
def test_a_query_of_several_lists_is_counted_once_among_those_that_choose(rule: str) -> None:
    folds = {
        "s1": Fold(("q2", "q3"), ("q2",), ("q1",)),
        "s2": Fold(("q1",), (), ("q3", "q2")),
        "s3": Fold((), (), ("q2",)),
    }
    assert sorted(RULES[rule].queries("s1", folds)) == ["q2", "q3"]
