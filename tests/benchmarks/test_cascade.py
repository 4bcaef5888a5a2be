"""The cascade's measurement derives from evidence what scoring fewer passages would have given."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from evidences import evidence, run

pytestmark = pytest.mark.neural


@pytest.fixture
def cascade() -> ModuleType:
    return import_module("benchmarks.cascade")


def queries(n: int) -> list[dict[str, list[object]]]:
    """Of each query, "a" is best by its second passage; only the vectors know; BM25 chooses the first ones."""
    scores = {
        "cross-encoder": {"a": [0.0, 3.0], "b": [2.0, 1.0]},
        "vectors": {"a": [0.1, 0.3], "b": [0.2, 0.1]},
        "bm25": {"a": [2.0, 1.0], "b": [2.0, 1.0]},
    }
    return [
        {name: [evidence(d, s, query_id=f"q{q}") for d, s in of.items()] for name, of in scores.items()}
        for q in range(n)
    ]


def result(cascade: ModuleType, n: int) -> dict[str, object]:
    task = cascade.Task("tiny", "RR@10", 2, None, 1)
    prepared = SimpleNamespace(
        qrels={f"q{q}": {"a": 1} for q in range(n)},
        first=run({f"q{q}": {"b": 2.0, "a": 1.0} for q in range(n)}),
    )
    return cascade.trade_off(task, queries(n), prepared)


def test_a_budget_of_one_loses_where_the_selector_chooses_the_wrong_passage(cascade: ModuleType) -> None:
    found = result(cascade, 30)
    points = {(p["selector"], p["pooled"], p["n"]): p for p in found["points"] if p["alpha"] is None}
    assert found["every_passage"]["None"] == 1.0
    assert found["first_stage"] == 0.5
    assert points["vectors", False, 1] | {"low": 0, "high": 0} == points["vectors", False, 1]
    assert (points["vectors", False, 1]["share"], points["vectors", False, 1]["difference"]) == (0.5, 0.0)
    assert (points["bm25", False, 1]["difference"], points["bm25", False, 1]["high"]) == (-0.5, -0.5)
    assert points["bm25", True, 2] | {"pooled": False} == points["bm25", False, 2]


def test_early_stopping_reads_one_document_where_the_cheap_scores_are_right(cascade: ModuleType) -> None:
    for point in result(cascade, 30)["early_stopping"]:
        assert (point["missed"], point["left_alone"], point["difference"]) == (0.0, 0.5, 0.0)


def test_the_table_marks_where_the_target_is_met_and_the_plot_is_drawn(cascade: ModuleType, tmp_path: Path) -> None:
    found = result(cascade, 30)
    for point in found["points"]:
        point["share"] /= 2
    (row,) = (line for line in cascade.table(found).splitlines() if line.startswith("| 1 each | 25.0% |"))
    assert "| -0.5000 (-0.5000 .. -0.5000) | **+0.0000** (+0.0000 .. +0.0000) |" in row
    pytest.importorskip("matplotlib")
    for name in ("once.svg", "twice.svg"):
        cascade.plot({"tiny": found}, tmp_path / name)
    assert (tmp_path / "once.svg").read_bytes() == (tmp_path / "twice.svg").read_bytes()


def test_the_questions_that_are_evaluated_are_about_articles_that_were_not_trained_on(
    cascade: ModuleType, shared_data: Path
) -> None:
    from longrank.formats.trec import read_qrels
    from longrank.types import Notes

    task = next(task for task in cascade.TASKS if task.collection == "squad-dev-mixed")
    chosen = cascade.evaluated_queries(shared_data, task)
    articles = read_qrels(shared_data / "squad-dev-v1.1" / "qrels.txt", Notes())
    trained = cascade.cascade_articles(sorted({d for docs in articles.values() for d in docs}))
    assert len(chosen) == 200
    assert len(trained) == 24
    assert not any(trained & set(articles[query.query_id]) for query in chosen)
