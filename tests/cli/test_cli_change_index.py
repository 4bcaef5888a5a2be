"""``longrank index --add, --delete, --update, --merge``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from longrank.cli.main import main
from longrank.index import Index


@pytest.fixture
def notes_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder of three text files with an index, and work beside it."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in (("a.txt", "Dogs bark."), ("b.txt", "Cats purr."), ("c.txt", "Cows moo.")):
        (folder / name).write_text(text)
    assert main(["index", "notes", "-o", "my.index"]) == 0
    return folder


def texts() -> dict[str, str]:
    return {document.doc_id: document.text for document in Index("my.index")}


def built() -> Index:
    assert main(["index", "notes", "-o", "new.index"]) == 0
    return Index("new.index")


def test_documents_are_added_replaced_and_deleted_in_one_step(
    notes_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("new.jsonl").write_text('{"doc_id": "d", "text": "Pigs grunt."}\n{"doc_id": "a.txt", "text": "Dogs howl."}\n')
    Path("gone.txt").write_text("b.txt\n\n")
    capsys.readouterr()
    assert main(["index", "--add", "--replace", "new.jsonl", "--delete", "gone.txt", "my.index"]) == 0
    shown = dict(line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert (shown["deleted"], shown["replaced"], shown["added"], shown["documents"]) == ("1", "1", "1", "3")
    assert texts() == {"c.txt": "Cows moo.", "d": "Pigs grunt.", "a.txt": "Dogs howl."}
    assert main(["index", "--merge", "my.index"]) == 0
    assert len(Index("my.index").parts) == 1
    assert main(["check", "my.index"]) == 0


def test_an_id_ends_with_the_line_and_may_hold_blanks_beyond_ascii(notes_folder: Path) -> None:
    Path("new.jsonl").write_text('{"id": "d\\u00a0", "text": "Pigs grunt."}\n{"id": "d", "text": "Pigs eat."}\n')
    Path("gone.txt").write_text(" d\u00a0\t\r\n")
    assert main(["index", "--add", "new.jsonl", "my.index"]) == 0
    assert main(["index", "--delete", "gone.txt", "my.index"]) == 0
    assert texts().keys() == {"a.txt", "b.txt", "c.txt", "d"}


def test_an_update_that_merges_is_no_change_of_another_command(
    notes_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["index", "--add", str(notes_folder / "a.txt"), "--replace", "my.index"]) == 0
    assert main(["index", "--update", "my.index"]) == 0
    assert len(Index("my.index").parts) > 1
    for _ in range(2):  # with and without a change of the files
        (notes_folder / "d.txt").write_text("Pigs grunt.")
        capsys.readouterr()
        assert main(["index", "--update", "--merge", "my.index"]) == 0
        assert len(Index("my.index").parts) == 1
        assert "another command" not in capsys.readouterr().err
    assert main(["index", "--update", "--dry-run", "my.index"]) == 0
    assert capsys.readouterr() == ("", "")
    assert set(texts()) == {"a.txt", "b.txt", "c.txt", "d.txt"}


def test_an_update_finds_new_changed_and_vanished_files(notes_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (notes_folder / "a.txt").write_text("Dogs howl.")
    (notes_folder / "b.txt").unlink()
    (notes_folder / "d.txt").write_text("Pigs grunt.")
    os.utime(notes_folder / "c.txt", ns=(1, 1))  # the time alone is no change
    capsys.readouterr()
    assert main(["index", "--update", "--dry-run", "my.index"]) == 0
    listed = [f"new\t{notes_folder}/d.txt", f"changed\t{notes_folder}/a.txt", f"vanished\t{notes_folder}/b.txt"]
    assert capsys.readouterr().out.splitlines() == listed
    assert set(texts()) == {"a.txt", "b.txt", "c.txt"}
    assert main(["index", "--update", "my.index"]) == 0
    assert capsys.readouterr().out.splitlines()[:5] == [*listed, "added\t2", "deleted\t2"]
    assert {document.doc_id: document.text for document in built()} == texts()
    digest = Index("my.index").digest
    capsys.readouterr()
    assert main(["index", "--update", "my.index"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["added\t0", "deleted\t0"]
    assert Index("my.index").digest == digest


def test_documents_of_a_changed_file_that_stayed_the_same_are_not_indexed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [f'{{"doc_id": "d{n}", "text": "word{n}", "year": {n}}}\n' for n in range(5)]
    Path("docs.jsonl").write_text("".join(lines))
    assert main(["index", "docs.jsonl", "-o", "my.index"]) == 0
    Path("docs.jsonl").write_text(
        "".join([*lines[1:3], lines[3].replace("3}", "30}"), lines[4], lines[4].replace("d4", "d5")])
    )
    assert main(["index", "--update", "my.index"]) == 0
    index = Index("my.index")
    assert [document.doc_id for document in index] == ["d1", "d2", "d4", "d3", "d5"]
    assert index.metadata("d3") == {"year": 30}
    assert [len(part.dead) for part in index.parts] == [5, 2]


def test_a_value_that_becomes_true_is_another_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("docs.jsonl").write_text('{"doc_id": "d", "text": "a", "open": 1}\n')
    assert main(["index", "docs.jsonl", "-o", "my.index"]) == 0
    Path("docs.jsonl").write_text('{"doc_id": "d", "text": "a", "open": true}\n')
    assert main(["index", "--update", "my.index"]) == 0
    assert Index("my.index").metadata("d")["open"] is True


def test_an_update_after_an_interrupted_record_repeats_the_changes(notes_folder: Path) -> None:
    record = Path("my.index/.sources.jsonl").read_bytes()
    (notes_folder / "d.txt").write_text("Pigs grunt.")
    (notes_folder / "b.txt").unlink()
    assert main(["index", "--update", "my.index"]) == 0
    Path("my.index/.sources.jsonl").write_bytes(record)
    assert main(["index", "--update", "my.index"]) == 0
    assert texts() == {"a.txt": "Dogs bark.", "c.txt": "Cows moo.", "d.txt": "Pigs grunt."}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--add", "my.index"], "--add needs a source and an index"),
        (["--replace", "notes", "-o", "x"], "--replace needs --add"),
        (["--dry-run", "my.index"], "--dry-run needs --update"),
        (["--merge", "notes", "my.index"], "one index is needed"),
        (["--merge", "my.index", "-o", "x"], "-o builds a new index"),
        (["--update", "--add", "notes", "my.index"], "--update stands alone"),
        (["--add", "notes", "my.index"], "doc_id is in the index already"),
        (["--delete", "ids.txt", "my.index"], "no such document in the index (got 'zz')"),
        (["--add", "notes", "no.index"], "no such index"),
        (["--update", "my.index", "--compress"], "my.index: --compress is for a new index"),
        (["--merge", "my.index", "--resources", "GPU=1"], "--resources is for a new index"),
        (["--merge", "my.index", "--analyzer", "none"], "--analyzer is for a new index"),
        (
            ["--update", "--exclude", "b*", "my.index"],
            "--exclude is not as in the build",
        ),
        (["--update", "--format", "text", "my.index"], "--format is not as in the build"),
        (["--update", "--strict", "my.index"], "--strict is not as in the build, and an update reads documents as the"),
        (["--merge", "--encoding", "cp1252", "my.index"], "--encoding is for a new index and for --add; leave it out"),
        (
            ["--delete", "ids.txt", "--report", "r.tsv", "my.index"],
            "--report is for commands that read documents",
        ),
        (
            ["--update", "--dry-run", "--vectors", "minilm", "my.index"],
            "--dry-run changes nothing, so it stores no vecto",
        ),
        (["--add", "--include", "*.txt", "new.jsonl", "my.index"], "choose among the files of a folder"),
        (["--update", "--dry-run", "--report", "r", "my.index"], "--report is for commands that read documents"),
        (["my.index", "--vectors", "minilm", "--ocr", "x"], "--ocr is for a new index and for --add"),
        (["--add", "new.jsonl", "my.index", "--analyzer-field", "lang"], "--analyzer-field is for a new index"),
        (["--add", "new.jsonl", "my.index", "--expansions", "e.jsonl"], "--expansions is for a new index"),
        (["--add", "new.jsonl", "my.index", "--original-copies", "2"], "--original-copies is for a new index"),
        (["--add", "new.jsonl", "my.index", "--fields", "text"], "--fields is for a new index"),
        (["--merge", "my.index", "--engine", "ray"], "--engine is for a new index"),
        (["my.index", "--vectors", "minilm", "--shards", "2"], "--shards is for a new index"),
        (["my.index", "--vectors", "minilm", "--compress"], "--compress is for a new index"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_changes_are_one_line_and_change_nothing(
    notes_folder: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("ids.txt").write_text("a.txt\nzz\n")
    Path("new.jsonl").write_text('{"doc_id": "d", "text": "Pigs grunt.", "lang": "en"}\n')
    before = Index("my.index").digest
    capsys.readouterr()
    assert main(["index", *arguments]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("longrank: error: ") and message in error
    assert Index("my.index").digest == before


def test_an_update_reports_the_files_that_it_skips_and_may_repeat_the_options_of_reading(notes_folder: Path) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra files")
    reading = ["--exclude", "drafts/", "--exclude", "old/", "--encoding", "utf8", "--max-ratio", "100"]
    assert main(["index", "notes", "-o", "other.index", *reading]) == 0
    reading = ["--exclude", "old/", "--exclude", "drafts/", "--encoding", "UTF-8"]
    Path("notes/new.pdf").write_bytes(b"%PDF-1.4\nbroken")
    assert main(["index", "--update", *reading, "--report", "skipped.tsv", "other.index"]) == 0
    (line,) = Path("skipped.tsv").read_text().splitlines()
    assert line.startswith(str(Path("notes/new.pdf").resolve()) + "\t")


def test_a_change_may_repeat_the_options_of_its_index(notes_folder: Path) -> None:
    options = ["--analyzer", "none", "--fields", "text"]
    Path("new.jsonl").write_text('{"doc_id": "d", "text": "Pigs grunt."}\n')
    assert main(["index", "notes", "-o", "plain.index", *options]) == 0
    assert main(["index", "--add", "new.jsonl", "plain.index", *options]) == 0
    assert len(Index("plain.index")) == 4


@pytest.mark.parametrize("option", [["--analyzer", "porter"], ["--fields", "title,text"], ["--metadata", "all"]])
def test_a_change_refuses_options_that_are_the_defaults_but_not_those_of_its_index(
    notes_folder: Path, option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    build = ["--analyzer", "none", "--fields", "text", "--metadata", "none"]
    assert main(["index", "notes", "-o", "plain.index", *build]) == 0
    capsys.readouterr()
    assert main(["index", "--merge", "plain.index", *option]) == 2
    assert f"{option[0]} is for a new index" in capsys.readouterr().err
    assert main(["index", "--merge", "plain.index"]) == 0


def test_an_index_without_a_record_of_its_files_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Index.build([("d1", "Dogs bark.")], tmp_path / "index")
    assert main(["index", "--update", str(tmp_path / "index")]) == 2
    assert "has no record of its source files" in capsys.readouterr().err


def test_a_folder_that_is_gone_deletes_nothing(notes_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notes_folder.rename(notes_folder.with_name("elsewhere"))
    assert main(["index", "--update", "my.index"]) == 2
    assert "no such file or folder" in capsys.readouterr().err
    assert len(texts()) == 3
