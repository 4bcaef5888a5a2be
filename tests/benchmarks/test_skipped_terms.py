"""Search with and without skipped terms is measured on the passages of a collection and its queries."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = "Storms form at sea. Harbours close when waves rise."


def made(folder: Path) -> Path:
    """A collection of ten documents of two passages."""
    folder.mkdir()
    spans = [[0, 19], [20, len(TEXT)]]
    documents = [{"doc_id": f"d{n}", "text": TEXT, "passages": spans} for n in range(10)]
    (folder / "docs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in documents))
    (folder / "queries.jsonl").write_text('{"query_id": "q", "text": "storms and waves"}\n')
    (folder / "qrels.txt").write_text("q 0 d1 1\n")
    return folder


def test_passages_are_documents_and_every_depth_has_a_row(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.skipped_terms", made(tmp_path / "sea"), "--folder", tmp_path / "work"]
    command += ["--docs", 0, 50, "--rounds", 1, "--k", 1, 5]
    done = subprocess.run([*map(str, command)], cwd=ROOT, capture_output=True, text=True, check=True)
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| sea")]
    assert [row[1:3] + row[5:6] for row in rows] == [
        [n, "2 to 3", k] for n, k in (("20", "1"), ("20", "5"), ("50", "1"), ("50", "5"))
    ]


def test_a_larger_collection_has_passages_without_some_words_in_random_order() -> None:
    enlarged = import_module("benchmarks.skipped_terms").enlarged
    words = [f"w{n}" for n in range(300)]
    texts = [" ".join(words[:150]), " ".join(words[150:])]
    found = [text.split() for text in enlarged(texts, 40, 1)]
    assert all(one == [word for word in words if word in set(one)] for one in found)
    assert sorted(one[0] in words[:150] for one in found) == [False] * 20 + [True] * 20
    assert 0.6 < sum(map(len, found)) / (40 * 150) < 0.73
    assert found == [text.split() for text in enlarged(texts, 40, 1)]
