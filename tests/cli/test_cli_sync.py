"""``longrank sync``."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from longrank.cli.main import main
from longrank.index import Index


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("Dogs bark.")
    return folder


def test_sync_builds_then_updates_with_a_line_each(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sync", "notes", "-o", "my.index"]) == 0
    (folder / "b.txt").write_text("Cats purr.")
    assert main(["sync", "notes", "-o", "my.index"]) == 0
    assert main(["sync", "notes", "-o", "my.index"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "files: 1 new; documents: 1 added, 0 deleted, 1 in the index",
        "files: 1 new; documents: 1 added, 0 deleted, 2 in the index",
        "files: no change; documents: 0 added, 0 deleted, 2 in the index",
    ]


def test_sync_keeps_the_options_of_an_index(folder: Path) -> None:
    assert main(["index", "notes", "-o", "my.index", "--analyzer", "none"]) == 0
    (folder / "b.txt").write_text("Cats purr.")
    assert main(["sync", "notes", "-o", "my.index"]) == 0
    assert Index("my.index").options.analyzer == "none"


@pytest.mark.timeout(60)
def test_watching_indexes_changes_until_ctrl_c(folder: Path) -> None:
    pytest.importorskip("watchfiles")
    command = [sys.executable, "-m", "longrank", "sync", "notes", "-o", "my.index", "--watch"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("files: 1 new;")
        (folder / "b.txt").write_text("Cats purr.")
        assert process.stdout.readline() == "files: 1 new; documents: 1 added, 0 deleted, 2 in the index\n"
        (folder / "a.txt").unlink()
        assert process.stdout.readline() == "files: 1 vanished; documents: 0 added, 1 deleted, 1 in the index\n"
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
    assert [document.doc_id for document in Index("my.index")] == ["b.txt"]


@pytest.mark.timeout(60)
def test_a_change_that_cannot_be_indexed_does_not_end_the_watch(folder: Path) -> None:
    pytest.importorskip("watchfiles")
    command = [sys.executable, "-m", "longrank", "sync", "notes", "-o", "my.index", "--watch"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("files: 1 new;")
        (folder / "a.txt").unlink()  # an index holds at least one document
        assert any("not updated: " in line for line in process.stderr)
        (folder / "b.txt").write_text("Cats purr.")
        assert process.stdout.readline() == "files: 1 new, 1 vanished; documents: 1 added, 1 deleted, 1 in the index\n"
        process.terminate()
        assert process.wait() == 143
