"""``longrank sync``."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from longrank.cli.main import main
from longrank.cli.sync import _sync_again
from longrank.errors import BeingWritten
from longrank.index import Index
from longrank.types import Notes


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


@contextmanager
def watching() -> Iterator[subprocess.Popen[str]]:
    """A watch of the folder, which ends with the block, also if an assertion fails.

    Ctrl-C ends it also where this process ignores the signal, as a job in the background does.
    """
    command = [sys.executable, "-m", "longrank", "sync", "notes", "-o", "my.index", "--watch"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        try:
            yield process
        finally:
            process.kill()


def test_watching_indexes_changes_until_ctrl_c(folder: Path) -> None:
    pytest.importorskip("watchfiles")
    with watching() as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("files: 1 new;")
        (folder / "b.txt").write_text("Cats purr.")
        assert process.stdout.readline() == "files: 1 new; documents: 1 added, 0 deleted, 2 in the index\n"
        (folder / "a.txt").unlink()
        assert process.stdout.readline() == "files: 1 vanished; documents: 0 added, 1 deleted, 1 in the index\n"
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
    assert [document.doc_id for document in Index("my.index")] == ["b.txt"]


def test_a_change_that_cannot_be_indexed_does_not_end_the_watch(folder: Path) -> None:
    pytest.importorskip("watchfiles")
    with watching() as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("files: 1 new;")
        (folder / "a.txt").unlink()  # an index holds at least one document
        assert any("not updated: " in line for line in process.stderr)
        (folder / "b.txt").write_text("Cats purr.")
        assert process.stdout.readline() == "files: 1 new, 1 vanished; documents: 1 added, 1 deleted, 1 in the index\n"
        process.terminate()
        assert process.wait() == 143


def test_vectors_that_could_not_be_stored_are_stored_by_the_next_update_of_a_watch(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Vectors:
        """Another process holds the lock at the first call."""

        calls = 0

        def store(self, path: Path, notes: Notes) -> None:
            self.calls += 1
            if self.calls == 1:
                raise BeingWritten("is being written by pid 7", path=path)

    vectors: Any = Vectors()
    options = (["notes"], Path("my.index"), 1, vectors)
    assert not _sync_again(*options, said=set(), anyway=False)
    assert "my.index: is being written by pid 7" in capsys.readouterr().err
    assert _sync_again(*options, said=set(), anyway=True)
    assert _sync_again(*options, said=set(), anyway=False)
    assert vectors.calls == 2


def test_sync_follows_a_database_and_does_not_watch_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(sqlite3.connect("pages.db")) as database:
        database.execute("CREATE TABLE pages (id TEXT, text TEXT)")
        database.execute("INSERT INTO pages VALUES ('fog', 'Fog hides the lights.')")
        database.commit()
        source = "sqlite:///pages.db?query=SELECT * FROM pages ORDER BY id"
        assert main(["sync", "notes", source, "-o", "my.index"]) == 0
        database.execute("INSERT INTO pages VALUES ('tide', 'The tide is high.')")
        database.execute("DELETE FROM pages WHERE id = 'fog'")
        database.commit()
        assert main(["sync", "notes", source, "-o", "my.index"]) == 0
    assert [document.doc_id for document in Index("my.index")] == ["a.txt", "tide"]
    assert capsys.readouterr().out.splitlines() == [
        "files: 2 new; documents: 2 added, 0 deleted, 2 in the index",
        "files: 1 changed; documents: 1 added, 1 deleted, 2 in the index",
    ]
    assert main(["sync", source, "-o", "other.index", "--watch"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "a database cannot be watched" in line and "leave --watch out" in line
    assert not Path("other.index").exists()


def test_a_file_that_cannot_be_opened_is_named_without_another_change(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["sync", str(folder), "-o", str(folder.parent / "index")]
    assert main(command) == 0
    (folder / "locked.txt").write_text("Cows moo.")
    real = Path.open

    def refusing(path: Path, *given: Any, **options: Any) -> Any:
        if path.name == "locked.txt":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *given, **options)

    monkeypatch.setattr(Path, "open", refusing)
    capsys.readouterr()
    assert main(command) == 0
    printed = capsys.readouterr()
    assert "files: no change" in printed.out
    assert "locked.txt: Permission denied" in printed.err


@pytest.mark.neural
@pytest.mark.parametrize("arguments", [["sync", "notes", "-o"], ["index", "--update"], ["index", "--add", "more"]])
def test_vectors_that_are_stored_with_a_change_are_not_noted_as_stale(
    arguments: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tiny_models import save_encoder

    model, passages = str(save_encoder(folder.parent / "encoder")), ["--passages", "dai"]
    assert main(["index", "notes", "-o", "my.index", "--vectors", model, *passages]) == 0
    assert main(["index", "my.index", "--vectors", model]) == 0
    (folder / "b.txt").write_text("Cats purr.")
    (folder.parent / "more").mkdir()
    (folder.parent / "more" / "c.txt").write_text("Birds sing.")
    capsys.readouterr()
    assert main([*arguments, "my.index", "--vectors", model, *passages]) == 0
    assert "do not fit the changed index; store them again: 1 (first: encoder-tokens)" in capsys.readouterr().err
