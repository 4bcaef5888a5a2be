"""The Python of docs/vector-stores.md runs and prints what the page says, in stores without a server."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from test_docs import ROOT

PAGE = ROOT / "docs" / "vector-stores.md"
pytestmark = [
    pytest.mark.neural,
    pytest.mark.filterwarnings("default"),  # warnings of the stores are theirs
]


def section(title: str) -> list[tuple[str, str]]:
    """Return the blocks of a section: (language, content)."""
    (text,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL)


@pytest.fixture(scope="module")
def beginning(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the names of the first block, run once."""
    folder = tmp_path_factory.mktemp("page")
    shutil.copytree(ROOT / "examples", folder / "examples")
    names: dict[str, Any] = {}
    with contextlib.chdir(folder):
        ((_, block),) = section("Passages and their vectors")
        exec(compile(block, "vector-stores.md", "exec"), names)
    return names


@pytest.mark.parametrize(
    ("title", "package"), [("LanceDB", "lancedb"), ("Chroma", "chromadb"), ("Qdrant", "qdrant_client")]
)
def test_a_store_gets_passages_and_its_answer_is_reranked(
    title: str, package: str, beginning: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(package, reason=f"needs {package} (make test-vector-stores)")
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    blocks = section(title)
    with contextlib.redirect_stdout(printed):
        for language, block in blocks:
            if language == "python":
                exec(compile(block, "vector-stores.md", "exec"), beginning)
    assert printed.getvalue() == "".join(block for language, block in blocks if language == "text")


def test_the_passages_are_spans_of_their_documents(beginning: dict[str, Any]) -> None:
    lines = (ROOT / "examples" / "docs.jsonl").read_text(encoding="utf-8").splitlines()
    texts = {record["doc_id"]: record["text"] for record in map(json.loads, lines)}
    for passage in beginning["passages"]:
        assert texts[passage.doc_id][passage.start : passage.end] == passage.text
    assert len(beginning["vectors"]) == len(beginning["passages"])
