"""Tables of results are those of the figures that were measured last, and pages do not contradict each other."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


def figures(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DOCS / "results" / name).read_text(encoding="utf-8"))
    return found


def test_the_tables_of_candidates_are_the_measured_figures() -> None:
    program, rows = import_module("benchmarks.hybrid_recall"), figures("hybrid-recall.json")
    page = (DOCS / "results-first-stage.md").read_text(encoding="utf-8")
    assert all(part in page for part in program.table({name: rows[name] for name in program.COLLECTIONS}).split("\n\n"))


def test_the_table_of_the_mix_has_the_measured_figures() -> None:
    columns = ("time", "squad-dev-mixed", "squad-dev-sections", "cacm", "scifact", "qmsum")
    measured = figures("mixing.json")["collections"]
    page = (DOCS / "results-mixing.md").read_text(encoding="utf-8")
    checked = 0
    for system in ("BM25 .9/.4", "BM25 1.2/.75", "`lexical`", "MiniLM, MaxP alone", "`minilm`", "`mixed`"):
        (row,) = re.findall(rf"^\| {re.escape(system)}(?: \(MaxP[^|]*)? \|(.*)\|$", page, re.MULTILINE)
        cells = [re.match(r"\**([.\d]+)", cell.strip()) for cell in row.split("|")]
        for column, cell in zip(columns, cells, strict=True):
            assert cell is not None
            assert float(cell[1]) == pytest.approx(measured[column]["systems"][system]["value"], abs=5e-5)
            checked += 1
    assert checked == 36


def test_pages_that_measure_the_same_pipeline_on_the_same_queries_agree() -> None:
    mixing, hybrid = figures("mixing.json")["collections"], figures("hybrid-recall.json")
    for name in ("time", "cacm"):
        value = hybrid[name]["pipelines"]["mixed"]["nDCG@10"]
        assert value == pytest.approx(mixing[name]["systems"]["`mixed`"]["value"], abs=1e-4)
