"""The cold start of a search leaves out the time of imports, wherever they happen."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

from longrank.index import index_files

ROOT = Path(__file__).resolve().parents[2]


def test_an_import_inside_an_import_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outer_of_cold_start.py").write_text("import time, inner_of_cold_start\ntime.sleep(.02)\n")
    (tmp_path / "inner_of_cold_start.py").write_text("import time\ntime.sleep(.05)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    start = time.perf_counter()
    with import_module("benchmarks.cold_start").imports_timed() as taken:
        import_module("outer_of_cold_start")
    assert 0.07 <= taken[0] <= time.perf_counter() - start


def test_each_pipeline_has_a_row(tmp_path: Path) -> None:
    source = tmp_path / "docs.jsonl"
    source.write_text(json.dumps({"doc_id": "a", "text": "storms at sea"}) + "\n")
    index_files([str(source)], tmp_path / "index")
    command = [sys.executable, "-m", "benchmarks.cold_start", str(tmp_path / "index"), "storms"]
    command += ["--pipelines", "bm25", "--times", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    ((name, *figures),) = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if "bm25" in line]
    assert name == "bm25"
    assert all(float(figure) >= 0 for figure in figures)
