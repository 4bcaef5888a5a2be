"""The tests behind the findings: what is compared, on which queries, and how p is corrected."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from scipy.stats import ttest_rel

from evidences import run
from longrank.formats.folds import Fold, write_folds
from longrank.formats.trec import write_run

pytestmark = pytest.mark.neural
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def findings() -> ModuleType:
    return import_module("benchmarks.findings")


def test_a_recipes_rows_and_a_collections_runs_are_read(findings: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "open" / "time" / "birch" / "x").mkdir(parents=True)
    kept = {"1S": {"AP": {"1": 0.25}}}
    (tmp_path / "open" / "time" / "birch" / "x" / "per-query.json").write_text(json.dumps(kept))
    (tmp_path / "time").mkdir()
    write_run(run({"1": {"a": 2.0, "b": 1.0}}), tmp_path / "time" / "one.run")
    (tmp_path / "time" / "qrels.txt").write_text("1 0 b 1\n2 0 a 1\n")
    read = findings.kept_values
    ranked = findings.Ranked
    assert read(ranked("time/birch/x", "1S"), "AP", tmp_path, tmp_path / "open") == {"1": 0.25}
    assert read(ranked("time", "one.run"), "RR@10", tmp_path, tmp_path / "open") == {"1": 0.5, "2": 0.0}
    (tmp_path / "time" / "end" / "s1").mkdir(parents=True)
    (tmp_path / "time" / "one.run").rename(tmp_path / "time" / "end" / "s1" / "one.run")
    write_folds({"s1": Fold(("2",), (), ("1",))}, tmp_path / "time" / "folds.json")
    assert read(ranked("time", "end/s1/one.run"), "RR@10", tmp_path, tmp_path / "open") == {"1": 0.5}


def test_p_is_of_the_queries_of_the_system_and_corrected_for_the_question(findings: ModuleType) -> None:
    kept = {
        "a": {"1": 0.5, "2": 0.75, "3": 1.0, "4": 0.25},
        "b": {"1": 0.25, "2": 0.5, "3": 1.0},
        "c": {"1": 1.0, "2": 0.125, "3": 0.5, "4": 0.0},
    }
    compared = [findings.Comparison("AP", findings.Ranked("x", name), findings.Ranked("x", "a")) for name in "bc"]
    first, second = findings.tested(compared, lambda ranked, measure: kept[ranked.name])
    assert (first["queries"], first["value"], first["against"]) == (3, 0.5833, 0.75)
    by_hand = [
        ttest_rel([0.25, 0.5, 1.0], [0.5, 0.75, 1.0]).pvalue,
        ttest_rel(*(list(kept[n].values()) for n in "ca")).pvalue,
    ]
    assert [first["p"], second["p"]] == pytest.approx(by_hand)
    assert by_hand[0] < by_hand[1]
    assert first["p_holm"] == pytest.approx(2 * by_hand[0])
    assert second["p_holm"] == pytest.approx(max(by_hand[1], 2 * by_hand[0]))


def test_the_committed_page_is_that_of_the_committed_figures(findings: ModuleType) -> None:
    found = json.loads((ROOT / "docs" / "results" / "findings.json").read_text())
    assert (ROOT / "docs" / "findings-tests.md").read_text() == findings.as_markdown(found)
    assert [one["question"] for one in found] == list(findings.questions())
