"""The notebooks of examples/notebooks run cell by cell, as they stand there, and show what their text says."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_docs import ROOT
from test_docs import clone as clone
from test_python import cells

from longrank.demo import collection
from longrank.demo.collection import load
from longrank.types import Notes

FOLDER = Path("examples/notebooks")


def shown_by_cells(name: str) -> tuple[list[Any], dict[str, Any]]:
    """Run all cells in the notebook's folder; return the value of each cell's last line, and the names."""
    names: dict[str, Any] = {}
    return [_shown(cell, names) for cell in cells(ROOT / FOLDER / name)], names


def _shown(cell: str, names: dict[str, Any]) -> Any:
    *body, last = ast.parse(cell).body
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    if isinstance(last, ast.Expr):
        return eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    exec(compile(ast.Module([last], []), "cell", "exec"), names)
    return None


@pytest.fixture
def notebooks(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of the notebooks as working folder, with temporary files inside the test's folder."""
    monkeypatch.chdir(clone / FOLDER)
    monkeypatch.setattr("tempfile.tempdir", str(clone))


def test_every_notebook_is_stored_without_outputs_and_on_the_python_page() -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    for path in (ROOT / FOLDER).glob("*.ipynb"):
        assert path.name in page
        assert '"output_type"' not in path.read_text(encoding="utf-8")


def test_one_evidence_file_gives_tables_and_plots(notebooks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="needs the extra plots")
    pyplot.switch_backend("agg")
    titles: list[tuple[str, int]] = []

    def show() -> None:
        axes = pyplot.gca()
        titles.append((axes.get_ylabel(), len(axes.patches) + len(axes.get_lines())))
        pyplot.close()

    monkeypatch.setattr(pyplot, "show", show)
    (index, run, _, evaluation, _, weights, _, tested), names = shown_by_cells("evidence_to_tables.ipynb")
    assert len(index) == len(names["demo"].documents)
    assert len(run) == len(names["demo"].queries)
    assert titles[0] == ("passage score", len(names["document"].passage_score))
    assert titles[1] == ("change in nDCG@10", len(names["gains"]) + 1)
    assert titles[2] == ("nDCG@10", 5)
    assert evaluation.comparisons == 10
    assert evaluation["maxp", "nDCG@10"] > evaluation["firstp", "nDCG@10"]
    assert sum(names["gains"]) / len(names["gains"]) == pytest.approx(
        evaluation["maxp", "nDCG@10"] - evaluation["BM25", "nDCG@10"]
    )
    assert tested["learned weights", "nDCG@10"] == pytest.approx(weights.value)
    assert [row.name for row in evaluation.rows if any(test and test.significant for test in row.comparisons)] == [
        "firstp"
    ]
    assert not any(test and test.significant for row in tested.rows for test in row.comparisons)


def test_a_prompt_cites_the_pages_of_pdf_files(notebooks: None, capsys: pytest.CaptureFixture[str]) -> None:
    for module in ("matplotlib", "pypdfium2", "langchain_core", "llama_index.core"):
        pytest.importorskip(module, reason="needs the extras files, langchain, llama-index and plots")
    (_, files, *_, same, _, _), names = shown_by_cells("rag_with_pages.ipynb")
    assert files == [f"{name}.pdf" for name in ("bees", "bicycle", "bread", "lighthouse", "tides")]
    assert same is True
    place, passage, sentence_place = names["found"][0]
    assert (place, sentence_place) == ("lighthouse.pdf, pp. 2-3", "lighthouse.pdf, p. 2")
    assert f"[1] {place}\n{passage}" in names["prompt"]
    printed = capsys.readouterr().out
    assert "The vapour of that mercury made some keepers ill in mind, which was long put down to loneliness." in printed


def a_third(notes: Notes) -> collection.DemoCollection:
    """Return the demo with every third of its queries."""
    demo = load(notes)
    queries = demo.queries[::3]
    return replace(demo, queries=queries, qrels={query.query_id: demo.qrels[query.query_id] for query in queries})


def test_a_pyterrier_experiment_agrees_with_evaluate(
    notebooks: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyterrier", reason="needs the extra pyterrier")
    monkeypatch.setattr(collection, "load", a_third)
    (_, _, _, table, evaluation, _), names = shown_by_cells("pyterrier_experiment.ipynb")
    assert table["name"].tolist() == ["BM25", "MaxP", "AvgP"]
    for row in table.to_dict("records"):
        assert row["ndcg_cut_10"] == pytest.approx(evaluation[row["name"], "nDCG@10"], abs=1e-4)
        assert row["map"] == pytest.approx(evaluation[row["name"], "AP"], abs=1e-4)
    start, end = names["passage"]["start"], names["passage"]["end"]
    assert names["best"].text[start:end] == names["passage"]["text"]
    assert names["best"].text[names["start"] : names["end"]] in capsys.readouterr().out
