"""Updates of scanned files, whose text a command gives: the command may fail without a change of a file."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from document_files import pdf_bytes
from longrank.errors import InputError
from longrank.formats.records import CorpusOptions, FileOptions
from longrank.index import Index
from longrank.types import Notes
from longrank.verbs.recorded_build import build_from_files
from longrank.verbs.updates import update

pytest.importorskip("pypdfium2", reason="needs the extra files")

WORKS = "print('Dogs bark.')"
FAILS = "raise SystemExit(3)"
COMMAND = "./ocr"
STAY = "documents of files that could not be read now, which stay"


def command(place: Path, code: str) -> None:
    """Write the command, a program of its own."""
    (place / "ocr").write_text(f"#!{sys.executable}\n{code}\n")
    (place / "ocr").chmod(0o755)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with the command and a folder of scans."""
    command(tmp_path, WORKS)
    (tmp_path / "scans").mkdir()
    (tmp_path / "scans" / "a.pdf").write_bytes(pdf_bytes([[]]))
    (tmp_path / "scans" / "b.txt").write_text("Cats purr.")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def built(place: Path, name: str = "my.index", ocr: str = COMMAND) -> Path:
    build_from_files(
        [str(place / "scans")], place / name, corpus=CorpusOptions(files=FileOptions(ocr=ocr)), notes=Notes()
    )
    return place / name


def ids(folder: Path) -> list[str]:
    return sorted(document.doc_id for document in Index(folder))


def test_an_update_from_another_folder_starts_the_same_command(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = built(place)
    (place / "scans" / "c.pdf").write_bytes(pdf_bytes([[], []]))
    (place / "other").mkdir()
    monkeypatch.chdir(place / "other")
    assert update(folder).added == 1
    assert ids(folder) == ["a.pdf", "b.txt", "c.pdf"]


def test_a_command_that_cannot_be_started_ends_the_update(place: Path) -> None:
    folder = built(place)
    (place / "ocr").unlink()
    (place / "scans" / "b.txt").unlink()
    assert update(folder).deleted == 1  # no scan is read
    (place / "scans" / "c.pdf").write_bytes(pdf_bytes([[], []]))
    with pytest.raises(InputError, match=r"--ocr cannot be started: .*\(got './ocr'\)"):
        update(folder)
    with pytest.raises(InputError, match="--ocr cannot be started"):
        built(place, "new.index", "absent-tool")
    assert ids(folder) == ["a.pdf"]
    assert not (place / "new.index").exists()


def test_documents_of_unchanged_files_stay_while_the_command_fails(place: Path) -> None:
    folder, notes = built(place), Notes()
    Index(folder).add([("by-hand", "Cows moo.")])  # so that all files are compared
    command(place, FAILS)
    update(folder, notes=notes)
    assert ids(folder) == ["a.pdf", "b.txt", "by-hand"]
    assert notes[STAY] == 1
    for _ in range(3):
        assert update(folder).deleted == 0
    (place / "scans" / "a.pdf").unlink()
    assert update(folder).deleted == 1


def test_a_file_that_the_command_failed_for_is_read_when_it_works_again(place: Path) -> None:
    folder = built(place)
    (place / "scans" / "c.pdf").write_bytes(pdf_bytes([[], []]))
    (place / "scans" / "a.pdf").write_bytes(pdf_bytes([[], [], []]))  # changed: its old text is no longer the file's
    command(place, FAILS)
    for _ in range(3):
        notes = Notes()
        update(folder, notes=notes)
        assert ids(folder) == ["b.txt"]
        assert "--ocr ends with exit code 3" in notes.lines()[-1]
    command(place, WORKS)
    assert update(folder).added == 2
    assert ids(folder) == ["a.pdf", "b.txt", "c.pdf"]
    assert not any(update(folder))


def test_a_command_of_the_path_is_started_though_the_folder_of_the_build_is_gone(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    folder = built(place, ocr="echo scanned")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "work").rmdir()
    (place / "scans" / "c.pdf").write_bytes(pdf_bytes([[], []]))
    assert update(folder).added == 1


def killed_update(folder: Path) -> None:
    """Update an index, and end it just before its commit."""

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as kill:
        kill.setattr("longrank.index.writer.publish_segments", killed)
        with pytest.raises(KeyboardInterrupt):
            update(folder)


def test_documents_of_unchanged_files_stay_after_a_killed_update_while_the_command_fails(place: Path) -> None:
    folder = built(place)
    with Index(folder).writer() as writer:  # so that all files are compared, and one is indexed again
        writer.delete(["b.txt"])
    killed_update(folder)
    command(place, FAILS)
    for _ in range(3):
        update(folder)
        assert ids(folder) == ["a.pdf", "b.txt"]


def test_documents_of_a_changed_file_do_not_stay_after_a_killed_update(place: Path) -> None:
    folder = built(place)
    (place / "scans" / "b.txt").write_bytes(b"\x00\x01 binary \x00" * 20)
    killed_update(folder)
    for _ in range(3):
        update(folder)
    assert ids(folder) == ["a.pdf"]


def test_a_file_without_text_waits_for_its_next_change(place: Path) -> None:
    folder = built(place)
    (place / "scans" / "c.pdf").write_bytes(pdf_bytes([[], []]))
    command(place, "pass")
    for _ in range(2):
        update(folder)
    assert not any(update(folder))
