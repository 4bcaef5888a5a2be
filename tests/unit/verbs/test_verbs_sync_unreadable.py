"""An update goes on without the files that cannot be opened, and without those that vanish."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from longrank.errors import InputError
from longrank.formats.records import CorpusOptions, FileOptions
from longrank.index import Index
from longrank.types import Notes
from longrank.verbs.recorded_build import build_from_files
from longrank.verbs.sync import sync
from vanishing import vanishing


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("Dogs bark.")
    (folder / "b.txt").write_text("Cats purr.")
    return folder


def read(index: Path) -> dict[str, str]:
    return {document.doc_id: document.text for document in Index(index)}


@pytest.fixture
def locked(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Names of files that cannot be opened: tests may run as root, who may open all files."""
    names: set[str] = set()
    real = Path.open

    def refusing(path: Path, *given: Any, **options: Any) -> Any:
        if path.name in names:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *given, **options)

    monkeypatch.setattr(Path, "open", refusing)
    return names


LEFT = "files that cannot be opened, left as they are until the next update: 1"


def test_a_file_that_cannot_be_opened_is_left_out_of_a_build_and_indexed_later(
    folder: Path, tmp_path: Path, locked: set[str]
) -> None:
    locked.add("b.txt")
    sync([folder], tmp_path / "index", notes=(notes := Notes()))
    assert read(tmp_path / "index") == {"a.txt": "Dogs bark."}
    assert notes.lines()[0].startswith("files that cannot be read skipped: 1")
    assert not any(sync([folder], tmp_path / "index", notes=(notes := Notes())))
    assert notes.lines() == [f"{LEFT} (first: {folder / 'b.txt'}: Permission denied)"]
    locked.clear()
    assert sync([folder], tmp_path / "index").new == [str(folder / "b.txt")]
    assert read(tmp_path / "index") == {"a.txt": "Dogs bark.", "b.txt": "Cats purr."}


def test_documents_stay_where_the_target_of_a_link_is_away(folder: Path, tmp_path: Path) -> None:
    """Its disk may not be mounted; `git annex` leaves such links, too."""
    (tmp_path / "disk").mkdir()
    (folder / "b.txt").rename(tmp_path / "disk" / "b")
    (folder / "b.txt").symlink_to(tmp_path / "disk" / "b")
    (folder / "d.txt").symlink_to(tmp_path / "disk" / "d")  # never led anywhere
    sync([folder], tmp_path / "index")
    before = read(tmp_path / "index")
    assert sorted(before.values()) == ["Cats purr.", "Dogs bark."]
    (tmp_path / "disk").rename(tmp_path / "away")
    assert not any(sync([folder], tmp_path / "index", notes=(notes := Notes())))
    assert notes.lines() == [f"{LEFT} (first: {folder / 'b.txt'}: No such file or directory)"]
    assert read(tmp_path / "index") == before
    (tmp_path / "away" / "b").write_text("Cats hiss.")
    (tmp_path / "away").rename(tmp_path / "disk")
    sync([folder], tmp_path / "index")
    assert sorted(read(tmp_path / "index").values()) == ["Cats hiss.", "Dogs bark."]
    (folder / "b.txt").unlink()
    sync([folder], tmp_path / "index")
    assert sorted(read(tmp_path / "index").values()) == ["Dogs bark."]


def test_a_collection_whose_documents_are_a_link_to_a_disk_that_is_away_is_refused(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "docs.jsonl").write_text('{"id": "a", "text": "Dogs bark."}\n')
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "docs.jsonl").symlink_to(tmp_path / "disk" / "docs.jsonl")
    (tmp_path / "c" / "queries.jsonl").write_text('{"id": "1", "text": "dogs"}\n')
    sync([tmp_path / "c"], tmp_path / "index")
    (tmp_path / "disk").rename(tmp_path / "away")
    with pytest.raises(InputError, match=r"docs\.jsonl: the documents of this collection are gone"):
        sync([tmp_path / "c"], tmp_path / "index")
    assert read(tmp_path / "index") == {"a": "Dogs bark."}


def test_documents_stay_where_a_pattern_meets_a_link_to_a_folder_that_is_away(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "disk").mkdir()
    (folder / "b.txt").rename(tmp_path / "disk" / "b.txt")
    (folder / "sub").symlink_to(tmp_path / "disk")
    (folder / "own").mkdir()
    (folder / "a.txt").rename(folder / "own" / "a.txt")
    sync(["notes/*/*.txt"], tmp_path / "index")
    before = read(tmp_path / "index")
    assert sorted(before.values()) == ["Cats purr.", "Dogs bark."]
    (tmp_path / "disk").rename(tmp_path / "away")
    assert not any(sync(["notes/*/*.txt"], tmp_path / "index", notes=(notes := Notes())))
    assert notes.lines() == [f"{LEFT} (first: {folder / 'sub' / 'b.txt'}: No such file or directory)"]
    assert read(tmp_path / "index") == before


@pytest.mark.parametrize("pattern", ["c/*/docs.jsonl", "c/**/docs.jsonl"])
def test_collections_stay_where_a_pattern_meets_a_link_to_a_collection_that_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("disk", "Dogs bark."), ("c/own", "Cats purr.")):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "docs.jsonl").write_text(f'{{"id": "{name[0]}", "text": "{text}"}}\n')
    (tmp_path / "c/link").symlink_to(tmp_path / "disk")
    sync([pattern], tmp_path / "index")
    before = read(tmp_path / "index")
    assert before == {"d": "Dogs bark.", "c": "Cats purr."}
    (tmp_path / "disk").rename(tmp_path / "away")
    assert not any(sync([pattern], tmp_path / "index", notes=(notes := Notes())))
    assert notes.lines() == [f"{LEFT} (first: {tmp_path / 'c/link/docs.jsonl'}: No such file or directory)"]
    assert read(tmp_path / "index") == before


def test_documents_stay_where_a_pattern_matches_a_link_whose_target_is_away(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (folder / "b.txt").rename(tmp_path / "disk.txt")
    (folder / "b.txt").symlink_to(tmp_path / "disk.txt")
    sync(["notes/*.txt"], tmp_path / "index")
    (tmp_path / "disk.txt").rename(tmp_path / "away")
    (folder / "c.txt").write_text("Cows moo.")
    (folder / "new.txt").symlink_to("nowhere")
    sync(["notes/*.txt"], tmp_path / "index", notes=(notes := Notes()))
    assert notes.lines() == [f"{LEFT} (first: {folder / 'b.txt'}: No such file or directory)"]
    assert sorted(read(tmp_path / "index").values()) == ["Cats purr.", "Cows moo.", "Dogs bark."]


@pytest.mark.parametrize("source", ["notes", "note*"])
def test_documents_stay_where_their_folder_becomes_a_link(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    """A full disk is helped so: the folder moves to another disk, and a link takes its place."""
    monkeypatch.chdir(tmp_path)
    (folder / "sub").mkdir()
    (folder / "b.txt").rename(folder / "sub" / "b.txt")
    sync([source], tmp_path / "index")
    before = read(tmp_path / "index")
    (folder / "sub").rename(tmp_path / "disk")
    (folder / "sub").symlink_to(tmp_path / "disk")
    assert not any(sync([source], tmp_path / "index", notes=(notes := Notes())))
    fault = "its folder is a link now, and linked folders are not read"
    assert notes.lines() == [f"{LEFT} (first: {folder / 'sub' / 'b.txt'}: {fault})"]
    assert read(tmp_path / "index") == before
    sync([source], tmp_path / "new", notes=(notes := Notes()))
    assert notes.lines()[0] == "linked folders skipped: name them as sources: 1 (first: notes/sub)"


@pytest.mark.parametrize("pattern", ["notes/*/*.txt", "notes/**/*.txt", "**/*.txt"])
@pytest.mark.parametrize("files_open", [False, True])
def test_documents_of_a_folder_that_a_pattern_cannot_list_stay(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, files_open: bool
) -> None:
    """`glob` takes such a folder for an empty folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("x/d.txt", "y/e.txt", "y/f.txt"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"Dogs {name}.")
    sync([pattern], tmp_path / "index")
    before = read(tmp_path / "index")
    (folder / "x" / "d.txt").write_text("Cats purr.")
    (folder / "y" / "f.txt").unlink()

    def refusing(call: Any) -> Any:
        def refused(path: Any = ".", **options: Any) -> Any:
            if str(path).rstrip("/").endswith("notes/y") or (not files_open and "notes/y/" in str(path)):
                raise PermissionError(13, "Permission denied", str(path))
            return call(path, **options)

        return refused

    with monkeypatch.context() as locked:
        locked.setattr(os, "scandir", refusing(os.scandir))
        locked.setattr(Path, "stat", refusing(Path.stat))
        sync([pattern], tmp_path / "index", notes=(notes := Notes()))
    assert [line.split(":")[0] for line in notes.lines()] == [LEFT.partition(":")[0]]
    (changed,) = (doc_id for doc_id in before if doc_id.endswith("d.txt"))
    assert read(tmp_path / "index") == {**before, changed: "Cats purr."}
    assert sync([pattern], tmp_path / "index").deleted == 1


@pytest.mark.parametrize("by_hand", [False, True])
@pytest.mark.parametrize("name", ["b.txt", "b.jsonl", "TREC"])
def test_a_file_that_cannot_be_opened_keeps_its_documents_and_stops_no_update(
    folder: Path, tmp_path: Path, locked: set[str], name: str, by_hand: bool
) -> None:
    texts = {"b.jsonl": '{"id": "d", "text": "%s"}\n', "TREC": "<DOC><DOCNO>d</DOCNO><TEXT>%s</TEXT></DOC>\n"}
    doc_id, text = "d" if name in texts else name, texts.get(name, "%s")
    (folder / "b.txt").unlink()
    (folder / name).write_text(text % "Cats purr.")
    sync([folder], tmp_path / "index")
    before = read(tmp_path / "index")
    (folder / name).write_text(text % "Cats meow.")
    (folder / "c.txt").write_text("Cows moo.")
    if by_hand:
        Index(tmp_path / "index").delete(["a.txt"])
    locked.add(name)
    changes = sync([folder], tmp_path / "index", notes=(notes := Notes()))
    assert changes[:3] == ([str(folder / "c.txt")], [], [])
    assert notes.lines()[-1].startswith(LEFT)
    assert read(tmp_path / "index") == before | {"c.txt": "Cows moo."}
    locked.clear()
    assert sync([folder], tmp_path / "index").changed == [str(folder / name)]
    assert read(tmp_path / "index")[doc_id].strip() == "Cats meow."
    assert not any(sync([folder], tmp_path / "index"))


def test_a_file_that_cannot_be_opened_is_an_error_of_a_strict_index(
    folder: Path, tmp_path: Path, locked: set[str]
) -> None:
    corpus = CorpusOptions(files=FileOptions(strict=True))
    build_from_files([folder], tmp_path / "index", corpus=corpus, notes=Notes())
    locked.add("b.txt")
    with pytest.raises(InputError, match=r"b\.txt: cannot be read: Permission denied"):
        sync([folder], tmp_path / "index")


def test_a_file_that_vanishes_while_a_build_looks_at_it_is_no_source(folder: Path, tmp_path: Path) -> None:
    with vanishing(folder / "b.txt"):
        sync([folder], tmp_path / "index")
    assert not any(sync([folder], tmp_path / "index"))
    assert read(tmp_path / "index") == {"a.txt": "Dogs bark."}


def test_an_index_whose_files_cannot_be_recorded_says_so(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*given: Any) -> Iterator[Any]:
        raise InputError("cannot be read: Permission denied", path=folder)

    monkeypatch.setattr("longrank.verbs.source_states.files_of", failing)
    build_from_files([folder], tmp_path / "index", corpus=CorpusOptions(), notes=(notes := Notes()))
    said = f"the index has no record of its files and cannot be updated: {folder}: cannot be read: Permission denied"
    assert said in notes.lines()


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_a_file_that_became_a_folder_or_a_pipe_has_vanished(
    folder: Path, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    sync([folder], tmp_path / "index")
    (folder / "b.txt").unlink()
    make(folder / "b.txt")
    assert sync([folder], tmp_path / "index").vanished == [str(folder / "b.txt")]
    assert read(tmp_path / "index") == {"a.txt": "Dogs bark."}
