"""The tutorial of training runs: all of it, slowly, and its commands on six questions."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from test_docs import ROOT, blocks

from longrank.cli.main import main
from longrank.demo.collection import load, write
from longrank.types import Notes

pytestmark = pytest.mark.neural
PAGE = ROOT / "docs" / "tutorials" / "train-parade.md"


def lines() -> list[list[str]]:
    """Return the commands of the page, but for the demo, which measures more than its collection."""
    commands = [shlex.split(line)[1:] for block in blocks(PAGE, "sh") for line in block.splitlines()]
    assert [words[0] for words in commands] == ["demo", "index", "retrieve", "train", "evaluate"]
    return commands[1:]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(load(Notes()), tmp_path / "python-docs")
    (tmp_path / "mine.toml").write_text(blocks(PAGE, "toml")[0])
    return tmp_path


def test_the_commands_of_the_page_run_on_six_questions(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra plots")
    queries = folder / "python-docs" / "queries.jsonl"
    queries.write_text("".join(queries.read_text().splitlines(keepends=True)[:6]))
    less = ["loop.steps=2", "loop.batch=2", "loop.validate_every=1", "validation.depth=2", "test.depth=2"]
    for words in lines():
        capsys.readouterr()
        more = ["--fold", "s1", *(word for one in less for word in ("--set", one))] if words[0] == "train" else []
        own = [word.replace("parade/test.run", "parade/s1/test.run") for word in words]  # a fold is enough here
        assert main([*own, *more]) == 0, words
    assert "bm25.run" in capsys.readouterr().out
    assert (folder / "curve.svg").is_file()
    assert (folder / "parade" / "s1" / "model").is_dir()


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the documentation of another Python is another collection")
def test_the_page_runs_as_it_stands(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in lines():
        capsys.readouterr()
        assert main(words) == 0, words
    printed = capsys.readouterr().out.splitlines()
    shown = blocks(PAGE, "text")[0].splitlines()
    assert printed[:2] == shown[:2]  # last bits of the network depend on the kind of CPU
    assert printed[2].startswith("test.run   0.") and printed[2].endswith("*")
