"""The Python of docs/python.md and of the notebook runs as it stands there."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from test_docs import ROOT, blocks
from test_docs import clone as clone

from longrank.types import Run

NOTEBOOK = Path("examples/notebooks/first_ranking.ipynb")


def test_the_blocks_of_the_python_page_run_in_order(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for block in blocks(ROOT / "docs" / "python.md", "python"):
        exec(compile(block, "python.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "The lights of the coast" in printed
    assert "fused" in printed
    assert isinstance(names["average"], Run)
    assert names["scores"].shape == (2,)
    assert names["scores"][1] > names["scores"][0]


def cells(path: Path) -> list[str]:
    """Return the code cells of a notebook."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def shown(cell: str, names: dict[str, Any]) -> Any:
    """Run a cell and return the value of its last line, as a notebook shows it."""
    *body, last = ast.parse(cell).body
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    assert isinstance(last, ast.Expr)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_every_cell_of_the_notebook_shows_html(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(clone / NOTEBOOK.parent)
    names: dict[str, Any] = {}
    index, results, run, evaluation, texts = [shown(cell, names) for cell in cells(ROOT / NOTEBOOK)]
    assert "5 documents" in repr(index) or "n_docs=5" in repr(index) or "documents=5" in repr(index)
    assert "<mark" in results._repr_html_()
    assert "lights of the coast" in results._repr_html_()
    assert "<td" in run._repr_html_()
    assert "RR@10" in evaluation._repr_html_()
    assert (len(texts), texts[0].index) == (1, 1)
