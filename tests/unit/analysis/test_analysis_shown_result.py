"""Rows, differences and break-downs of shown passages."""

from __future__ import annotations

from pathlib import Path

import pytest

from longrank.analysis.gold import Gold
from longrank.analysis.shown_result import ShownResult, place, plot_shown, shown_result, shown_text

PAIRS = {
    ("q", "d1"): Gold(10, (), ((0, 2),)),
    ("q", "d2"): Gold(20, (), ((9, 11),)),
    ("r", "d3"): Gold(30, (), ((28, 30),)),
}
BEST, LAST = (
    {pair: order(gold.answers[0]) for pair, gold in PAIRS.items()}
    for order in (lambda answer: [answer, (0, 3)], lambda answer: [(3, 4), answer])
)


@pytest.fixture
def result() -> ShownResult:
    return shown_result({"a": BEST, "b": LAST}, PAIRS, (1, 2), answers=True, seed=42)


def test_a_row_is_the_mean_over_queries(result: ShownResult) -> None:
    mixed = shown_result({"m": {**BEST, ("q", "d1"): []}}, PAIRS, (1,), answers=True, seed=42)
    hits = mixed.inputs["m"].measures["hit@1"]
    assert hits is not None and (hits.mean, hits.queries) == (0.75, 2)  # q: (0 + 1) / 2, r: 1
    assert (result.queries, result.pairs) == (2, 3)


def test_differences_are_from_the_first_input_query_by_query(result: ShownResult) -> None:
    assert result.inputs["a"].differences == {}
    lost, read = (result.inputs["b"].differences[name] for name in ("RR", "characters"))
    assert lost is not None and (lost.mean, lost.low, lost.high) == (-0.5, -0.5, -0.5)
    assert read is not None and read.mean == 1


def test_documents_are_divided_by_length_and_by_place(result: ShownResult) -> None:
    assert result.groups == {"short": 1, "medium": 1, "long": 1, "beginning": 1, "middle": 1, "end": 1}
    assert result.lengths == {"short": 10, "medium": 20, "long": 30}
    some = shown_result({"m": {**LAST, ("r", "d3"): [(28, 30)]}}, PAIRS, (1,), answers=True, seed=42).inputs["m"]
    found = {name: values["hit@1"] for name, values in (some.by_length | some.by_place).items()}
    assert {name: estimate and estimate.mean for name, estimate in found.items()} == {
        "short": 0, "medium": 0, "long": 1, "beginning": 0, "middle": 0, "end": 1,
    }  # fmt: skip


def test_the_place_is_the_middle_of_the_first() -> None:
    gold = Gold(90, spans=((80, 90),), answers=((29, 31), (80, 81)))
    assert (place(gold, answers=True), place(gold, answers=False)) == (1, 2)
    assert place(Gold(3, (), ((2, 3),)), answers=True) == 2


def test_the_tables(result: ShownResult) -> None:
    lines = [line.split() for line in shown_text(result).splitlines()]
    assert [
        "a",
        "100.0",
        "[100.0,",
        "100.0]",
        "100.0",
        "[100.0,",
        "100.0]",
        "1.000",
        "[1.000,",
        "1.000]",
        "2",
        "[2,",
        "2]",
    ] in lines
    assert ["b", "-", "-", "-", "0.0", "[0.0,", "0.0]", "100.0", "[100.0,", "100.0]"] in lines  # overlap: no gold spans
    assert ["difference", "from", "a"] in lines
    assert lines[lines.index(["difference", "from", "a"]) + 2][:7] == [
        "b",
        "-100.0",
        "[-100.0,",
        "-100.0]",
        "+0.0",
        "[+0.0,",
        "+0.0]",
    ]
    assert lines[-4:] == [
        ["documents", "1", "1", "1", "1", "1", "1"],
        ["characters,", "up", "to", "10", "20", "30"],
        ["a", *["100.0"] * 6],
        ["b", *["0.0"] * 6],
    ]


def test_the_plot_has_a_line_for_each_input(result: ShownResult, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="plots need the extra plots")
    plot_shown(tmp_path / "p.svg", result)
    assert (tmp_path / "p.svg").read_text().startswith("<?xml")
