"""Measured evidence: the documents that are drawn, baselines, and the cells of the table."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from evidences import evidence
from longrank.verbs.analyze import analyze

pytestmark = pytest.mark.neural


@pytest.fixture
def bench() -> ModuleType:
    return import_module("benchmarks.evidence")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A collection of six questions on three documents; question 5 has no judged passage."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    texts = [{"doc_id": f"d{n}", "text": f"word{n} other", "passages": [[0, 5], [6, 11]]} for n in range(3)]
    questions = [{"query_id": str(n), "text": f"q{n}", "answers": [f"word{n % 3}"]} for n in range(6)]
    for name, rows in (("docs.jsonl", texts), ("queries.jsonl", questions)):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "qrels.txt").write_text("".join(f"{n} 0 d{n % 3} 1\n" for n in range(6)))
    (folder / "passage_qrels.txt").write_text("".join(f"{n} 0 d{n % 3}#0 1\n" for n in range(5)))
    return tmp_path


def test_documents_are_drawn_and_then_their_questions(bench: ModuleType, data: Path, tmp_path: Path) -> None:
    prepared = bench.Prepared(data, bench.Measured("tiny", "answers", 3, 2), tmp_path / "work")
    rows = [line.split() for line in prepared["gold.run"].read_text().splitlines()]
    assert len(rows) == 3 and len({row[2] for row in rows}) == 2
    assert all(row[2] == f"d{int(row[0]) % 3}" and row[0] != "5" for row in rows)


def test_baselines_are_orders_of_the_same_passages(bench: ModuleType) -> None:
    straight, random = (bench._ordered(evidence("d", [1, 5, 3]), name) for name in ("document order", "random"))
    assert [passage["start"] for passage in straight["passages"]] == [0, 10, 20]
    assert sorted(random["passages"], key=str) == sorted(straight["passages"], key=str)


def test_a_scorer_of_a_mix_orders_the_passages_alone(bench: ModuleType) -> None:
    mixed = replace(evidence("d", [3, 2, 1]), passage_parts={"lexical": np.array([1, 5, 3], np.float32)})
    assert bench._by_part(mixed, "lexical").best_first().tolist() == [1, 2, 0]


def test_a_cell_is_a_mean_and_half_of_its_interval(bench: ModuleType) -> None:
    lines = [{"query_id": "q", "doc_id": "d", "passages": [{"start": 4, "end": 9}]}]
    found = analyze.evidence({"mine": lines}, [("d", "the river")], qrels={"q": {"d": 1}}, answers={"q": ["river"]})
    assert bench.table(found.values).splitlines()[2] == (
        "| mine | 100.0 ± 0.0 | 100.0 ± 0.0 | 100.0 ± 0.0 | 1.000 ± 0.000 | 5 ± 0 | - |"
    )
