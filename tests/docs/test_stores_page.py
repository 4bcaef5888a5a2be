"""The blocks of docs/stores.md run as they stand there."""

from __future__ import annotations

import contextlib
import io
import shlex
from pathlib import Path

import pytest
from test_docs import ROOT, blocks

from longrank.cli.main import main

PAGE = ROOT / "docs" / "stores.md"


def test_the_database_of_the_page_is_indexed_searched_and_updated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks(PAGE, "python")[0], "stores.md", "exec"), {})
    printed = []
    for line in blocks(PAGE, "sh")[0].splitlines():
        assert main(shlex.split(line)[1:]) == 0, line
        printed.append(capsys.readouterr().out.rstrip())
    assert printed[1] == blocks(PAGE, "text")[0].rstrip()
    assert "added\t0" in printed[2]


def test_the_iterable_of_the_page_is_indexed() -> None:
    printed = io.StringIO()
    block = blocks(PAGE, "python")[1]
    with contextlib.redirect_stdout(printed):
        exec(compile(block, "stores.md", "exec"), {})
    assert block.rstrip().endswith(f"# {printed.getvalue().strip()}")
