"""An index is kept equal to folders of files."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from typing import Any

import pytest

from longrank.collections.files import files_of
from longrank.errors import InputError, IntegrityError, LongRankError
from longrank.formats.corpora import Located
from longrank.formats.records import CorpusOptions, Record, SourceFile
from longrank.index import Index
from longrank.index.folder import SOURCES
from longrank.index.sources import Sources, SourceState, write_sources
from longrank.types import Notes
from longrank.verbs.check import check
from longrank.verbs.recorded_build import build_from_files
from longrank.verbs.sync import sync, watched
from longrank.verbs.updates import update
from vanishing import vanishing


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text("Dogs bark.")
    (folder / "b.txt").write_text("Cats purr.")
    return folder


def test_the_first_sync_builds_and_later_syncs_update(folder: Path, tmp_path: Path) -> None:
    index = tmp_path / "notes.index"
    assert sync([folder], index) == ([str(folder / "a.txt"), str(folder / "b.txt")], [], [], 2, 0)
    (folder / "a.txt").unlink()
    (folder / "b.txt").write_text("Cats meow.")
    (folder / "c.txt").write_text("Cows moo.")
    changes = sync([folder], index)
    assert changes == ([str(folder / "c.txt")], [str(folder / "b.txt")], [str(folder / "a.txt")], 2, 2)
    assert [(document.doc_id, document.text) for document in Index(index)] == [
        ("b.txt", "Cats meow."),
        ("c.txt", "Cows moo."),
    ]
    assert not any(sync([folder], index))


def test_documents_that_another_command_changed_are_those_of_the_files_again(folder: Path, tmp_path: Path) -> None:
    index = tmp_path / "notes.index"
    sync([folder], index)
    with Index(index).writer() as writer:
        writer.delete(["a.txt"])
        writer.add([{"doc_id": "b.txt", "text": "Something else."}], replace=True)
        writer.add([("mine", "Added by hand.")])
    notes = Notes()
    assert sync([folder], index, notes=notes) == ([], [], [], 2, 1)
    assert notes.lines() == [
        "another command has changed the index since its last update: all files were compared with it"
    ]
    assert {document.doc_id: document.text for document in Index(index)} == {
        "a.txt": "Dogs bark.",
        "b.txt": "Cats purr.",
        "mine": "Added by hand.",
    }
    assert not any(sync([folder], index, notes=(quiet := Notes())))
    assert quiet.lines() == []


def test_a_dry_run_says_that_another_command_has_changed_the_index(folder: Path, tmp_path: Path) -> None:
    index = tmp_path / "notes.index"
    sync([folder], index)
    Index(index).delete(["a.txt"])
    notes = Notes()
    assert update(index, dry_run=True, notes=notes) == ([], [], [], 0, 0)
    assert notes.lines() == [
        "another command has changed the index since its last update: an update compares all files with it"
    ]


def test_a_skipped_file_is_reported_once(folder: Path, tmp_path: Path) -> None:
    (folder / "x.xyz").write_text("x")
    sync([folder], tmp_path / "index")
    (folder / "b.txt").write_text("Cats hiss.")
    rows: list[str] = []
    update(tmp_path / "index", skipped=lambda path, reason: rows.append(path.name))
    assert rows == ["x.xyz"]


def test_documents_with_fields_that_are_not_stored_are_all_indexed_again(tmp_path: Path) -> None:
    index = tmp_path / "index"
    for name, doc_ids in {"one": "ab", "two": "cd"}.items():
        rows = [{"doc_id": doc_id, "text": "Dogs bark.", "words": "cats"} for doc_id in doc_ids]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    corpus = CorpusOptions(index_only=("words",))
    build_from_files([tmp_path / "one.jsonl", tmp_path / "two.jsonl"], index, corpus=corpus, notes=Notes())
    with Index(index).writer() as writer:
        writer.delete(["a"])
        writer.add([{"doc_id": "c", "text": "Dogs bark.", "words": "pigs"}], replace=True, corpus=corpus)
        writer.add([("mine", "Added by hand.")])
    assert update(index) == ([], [], [], 4, 3)  # what is not stored cannot be compared
    assert sorted(document.doc_id for document in Index(index)) == ["a", "b", "c", "d", "mine"]
    assert [Index(index).df(term) for term in ("cat", "pig")] == [4, 0]


def test_a_document_added_by_hand_under_the_id_of_a_document_that_left_is_deleted_and_counted(
    folder: Path, tmp_path: Path
) -> None:
    index, rows = tmp_path / "notes.index", folder / "rows.jsonl"
    rows.write_text('{"id":"x","text":"fog"}\n{"id":"y","text":"tide"}\n')
    sync([folder], index)
    with Index(index).writer() as writer:
        writer.add([("y", "My own.")], replace=True)
    rows.write_text('{"id":"x","text":"fog"}\n')
    notes = Notes()
    sync([folder], index, notes=notes)
    assert "y" not in Index(index)
    what = "documents deleted whose files are gone or hold other ids, also if another command has added them again"
    assert notes.lines()[1:] == [f"{what}: 1 (first: y)"]


def test_a_file_with_the_id_of_a_document_added_by_hand_replaces_the_document_and_is_counted(
    folder: Path, tmp_path: Path
) -> None:
    index = tmp_path / "notes.index"
    sync([folder], index)
    with Index(index).writer() as writer:
        writer.add([("d.txt", "My own.")])
        writer.add([("a.txt", "Changed by hand.")], replace=True)
    (folder / "d.txt").write_text("Pigs grunt.")
    sync([folder], index, notes=(notes := Notes()))
    assert read(index) == {"a.txt": "Dogs bark.", "b.txt": "Cats purr.", "d.txt": "Pigs grunt."}
    what = "documents that another command had added, replaced by documents of files with their ids"
    assert notes.lines()[1:] == [f"{what}: 1 (first: d.txt)"]


def test_a_record_of_an_earlier_version_is_trusted(folder: Path, tmp_path: Path) -> None:
    index = tmp_path / "notes.index"
    sync([folder], index)
    header, *files = (index / SOURCES).read_text().splitlines()
    older = {name: value for name, value in json.loads(header).items() if name not in ("digest", "checksum")}
    (index / SOURCES).write_text("\n".join([json.dumps(older), *files]) + "\n")
    assert not any(update(index))


def test_a_flipped_bit_in_the_record_is_noticed(folder: Path, tmp_path: Path) -> None:
    index = tmp_path / "notes.index"
    sync([folder], index)
    assert check(index)
    record = index / SOURCES
    for place in (record.read_text().index('"ids"') + 9, record.read_text().index('"sources"') + 15):
        whole = record.read_bytes()
        record.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(IntegrityError, match=r"\.sources\.jsonl is damaged; build the index again"):
            check(index)
        with pytest.raises(IntegrityError, match=r"\.sources\.jsonl is damaged"):
            sync([folder], index)
        record.write_bytes(whole)
    assert not any(update(index))


@pytest.mark.parametrize(
    "added",
    [
        {"corpus.jsonl": '{"_id": "x", "text": "x"}', "queries.jsonl": '{"_id": "1", "text": "x"}'},
        {"metadata.csv": "cord_uid,title,abstract,pdf_json_files,pmc_json_files\nx,x,x,,\n"},
    ],
)
def test_a_folder_of_files_that_becomes_a_collection_is_refused(
    added: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    index = tmp_path / "notes.index"
    sync([folder], index)
    for name, text in added.items():
        (folder / name).write_text(text)
    with pytest.raises(InputError, match=rf"{folder}: is a collection now, of which only {next(iter(added))} is read"):
        sync([folder], index)
    assert [document.doc_id for document in Index(index)] == ["a.txt", "b.txt"]
    (folder / next(iter(added))).unlink()
    sync([folder], index)
    assert {"a.txt", "b.txt"} <= {document.doc_id for document in Index(index)}


JUDGED = {"queries.jsonl": '{"_id": "q", "text": "dogs"}\n', "qrels.txt": "q 0 d 1\n"}


@pytest.mark.parametrize(
    ("name", "beside"),
    [
        *(("corpus.jsonl", JUDGED), ("docs.jsonl", JUDGED), ("metadata.csv", JUDGED)),
        *(("corpus.jsonl", {"qrels/test.tsv": "q\td\n"}), ("docs.jsonl", {"README.md": "# About dogs\n"})),
        ("docs.jsonl", {"README.md": "# About dogs\n", "extra.jsonl": '{"_id": "x", "text": "Cats."}\n'}),
    ],
)
def test_a_collection_whose_documents_are_gone_is_refused(name: str, beside: dict[str, str], tmp_path: Path) -> None:
    place = tmp_path / "collection"
    for other, text in beside.items():
        (place / other).parent.mkdir(parents=True, exist_ok=True)
        (place / other).write_text(text)
    head = "cord_uid,title,abstract,pdf_json_files,pmc_json_files\n"
    (place / name).write_text(head + "d,Dogs,bark,,\n" if name == "metadata.csv" else '{"_id": "d", "text": "Dogs."}\n')
    sync([place], tmp_path / "index")
    (place / name).rename(tmp_path / name)
    if "README.md" in beside:  # written again meanwhile
        os.utime(place / "README.md", (2e9, 2e9))
    for call in (lambda: sync([place], tmp_path / "index"), lambda: update(tmp_path / "index")):
        with pytest.raises(InputError, match=rf"{name}: the documents of this collection are gone; put the file back"):
            call()
    (tmp_path / name).rename(place / name)
    assert not any(sync([place], tmp_path / "index"))
    assert [document.doc_id for document in Index(tmp_path / "index")] == ["d"]


@pytest.mark.parametrize("new", [["notes.md"], ["docs.tsv", "README.md"], ["a.txt", "b.txt"]])
def test_documents_of_a_collection_may_be_written_in_another_format(new: list[str], tmp_path: Path) -> None:
    place = tmp_path / "docs"
    place.mkdir()
    (place / "docs.jsonl").write_text('{"_id": "d", "text": "Dogs."}\n')
    sync([place], tmp_path / "index")
    (place / "docs.jsonl").unlink()
    time.sleep(0.02)  # the clock of some file systems
    for name in new:
        (place / name).write_text("d\tDogs.\n")
    assert sync([place], tmp_path / "index").vanished == [str(place / "docs.jsonl")]
    assert len(Index(tmp_path / "index")) == len(new)


@pytest.mark.parametrize("new", [["part1.jsonl"], ["a.txt", "b.txt"], ["a.html"]])
def test_documents_of_a_collection_may_be_replaced_by_older_files_beside_a_readme(
    new: list[str], tmp_path: Path
) -> None:
    if new == ["a.html"]:
        pytest.importorskip("resiliparse", reason="needs the extra html")
    place = tmp_path / "docs"
    place.mkdir()
    (place / "docs.jsonl").write_text('{"_id": "d", "text": "Dogs."}\n')
    (place / "README.md").write_text("# About dogs\n")
    sync([place], tmp_path / "index")
    (place / "docs.jsonl").unlink()
    for name in new:
        (place / name).write_text('{"_id": "d2", "text": "Dogs."}\n')
        os.utime(place / name, (1e9, 1e9))
    shutil.copytree(tmp_path / "index", tmp_path / "copy")  # whose files have later times
    assert sync([place], tmp_path / "index").vanished == [str(place / "docs.jsonl")]
    assert update(tmp_path / "copy").vanished == [str(place / "docs.jsonl")]
    assert len(Index(tmp_path / "copy")) == len(Index(tmp_path / "index")) == len(new) + 1


def test_files_that_came_beside_a_collection_since_it_was_indexed_do_not_replace_it(tmp_path: Path) -> None:
    place = tmp_path / "docs"
    place.mkdir()
    (place / "docs.jsonl").write_text('{"_id": "d", "text": "Dogs."}\n')
    sync([place], tmp_path / "index")
    (place / "later").mkdir()
    (place / "later" / "notes.txt").write_text("Cats.")
    with Index(tmp_path / "index").writer():  # another command writes to the index: nothing is recorded
        assert not any(sync([place], tmp_path / "index"))
    assert not any(sync([place], tmp_path / "index"))
    (place / "docs.jsonl").rename(tmp_path / "docs.jsonl")
    with pytest.raises(InputError, match=r"docs\.jsonl: the documents of this collection are gone"):
        sync([place], tmp_path / "index")


def test_a_collection_with_queries_is_refused_though_its_documents_have_another_name(tmp_path: Path) -> None:
    place = tmp_path / "docs"
    place.mkdir()
    (place / "docs.jsonl").write_text('{"_id": "d", "text": "Dogs."}\n')
    (place / "queries.jsonl").write_text('{"_id": "q", "text": "dogs"}\n')
    sync([place], tmp_path / "index")
    (place / "docs.jsonl").rename(place / "mydocs.jsonl")
    with pytest.raises(InputError, match=r"docs\.jsonl: the documents of this collection are gone"):
        sync([place], tmp_path / "index")


@pytest.mark.parametrize("earlier", [{"README.md": "# About"}, {"notes.txt": "Cats."}])
def test_a_record_of_an_earlier_version_does_not_say_what_lay_beside(earlier: dict[str, str], tmp_path: Path) -> None:
    place = tmp_path / "docs"
    place.mkdir()
    (place / "docs.jsonl").write_text('{"_id": "d", "text": "Dogs."}\n')
    for name, text in earlier.items():
        (place / name).write_text(text)
    sync([place], tmp_path / "index")
    record = tmp_path / "index" / SOURCES
    header, *files = record.read_text().splitlines()
    older = {name: value for name, value in json.loads(header).items() if name not in ("beside", "checksum")}
    record.write_text("\n".join([json.dumps(older), *files]) + "\n")
    (place / "docs.jsonl").rename(tmp_path / "docs.jsonl")
    with pytest.raises(InputError, match=r"docs\.jsonl: the documents of this collection are gone"):
        sync([place], tmp_path / "index")
    (place / "part.tsv").write_text("d\tDogs.\n")  # it may have lain there
    with pytest.raises(InputError, match=r"docs\.jsonl: the documents of this collection are gone"):
        update(tmp_path / "index")
    (tmp_path / "docs.jsonl").rename(place / "docs.jsonl")
    (place / "part.tsv").unlink()
    assert not any(update(tmp_path / "index"))  # records what lies beside
    (place / "docs.jsonl").unlink()
    (place / "part.tsv").write_text("d\tDogs.\n")
    if "notes.txt" in earlier:  # would be read with the new file
        with pytest.raises(InputError, match=r"docs\.jsonl: the documents of this collection are gone"):
            update(tmp_path / "index")
    else:
        assert update(tmp_path / "index").vanished == [str(place / "docs.jsonl")]


@pytest.mark.parametrize("pattern", ["r*/sub/../docs/*.txt", "r*/../real/docs/*.txt"])
@pytest.mark.parametrize("linked", [True, False])
def test_a_pattern_with_dots_names_the_same_files_at_each_update(pattern: str, linked: bool, tmp_path: Path) -> None:
    (tmp_path / "real/sub").mkdir(parents=True)
    docs = tmp_path / ("elsewhere" if linked else "real/docs")
    docs.mkdir()
    if linked:
        (tmp_path / "real/docs").symlink_to(docs)
    for name in ("a.txt", "b.txt"):
        (docs / name).write_text("Cats purr.")
        os.utime(docs / name, (1e9, 1e9))
    for _ in range(3):
        sync([f"{tmp_path}/{pattern}"], tmp_path / "index")
    assert not any(sync([f"{tmp_path}/{pattern}"], tmp_path / "index"))
    (docs / "a.txt").write_text("Dogs bark.")
    assert [len(part) for part in sync([f"{tmp_path}/{pattern}"], tmp_path / "index")[:3]] == [0, 1, 0]


@pytest.mark.parametrize(
    "names", [("docs.jsonl", "p1.jsonl"), ("corpus.jsonl", "v2/corpus.jsonl"), ("a/docs.jsonl", "b/x.jsonl")]
)
def test_files_of_a_folder_may_be_renamed_whatever_they_are_called(names: tuple[str, str], tmp_path: Path) -> None:
    old, new = (tmp_path / "docs" / name for name in names)
    for path in (old, new):
        path.parent.mkdir(parents=True, exist_ok=True)
    old.write_text('{"_id": "d", "text": "Dogs."}\n')
    sync([tmp_path / "docs"], tmp_path / "index")
    (tmp_path / "docs/README.md").write_text("# About dogs")
    old.rename(new)
    changes = sync([tmp_path / "docs"], tmp_path / "index")
    assert (str(new) in changes.new, changes.vanished) == (True, [str(old)])
    assert "d" in [document.doc_id for document in Index(tmp_path / "index")]


def test_other_sources_are_refused(folder: Path, tmp_path: Path) -> None:
    sync([folder], tmp_path / "index")
    other = tmp_path / "other"
    other.mkdir()
    (other / "d.txt").write_text("Pigs grunt.")
    with pytest.raises(InputError, match="was built from other sources") as caught:
        sync([folder, other], tmp_path / "index")
    assert f"longrank sync {folder} -o" in str(caught.value)
    assert len(Index(tmp_path / "index")) == 2


@pytest.mark.parametrize("inside", ["index", "below/index", "."])
def test_an_index_inside_its_source_is_refused(folder: Path, inside: str) -> None:
    with pytest.raises(InputError, match="lies inside its source"):
        sync([folder], folder / inside)
    assert sorted(path.name for path in folder.iterdir()) == ["a.txt", "b.txt"]


def test_a_missing_source_is_refused_and_deletes_nothing(folder: Path, tmp_path: Path) -> None:
    sync([folder], tmp_path / "index")
    folder.rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="no such file or folder"):
        sync([folder], tmp_path / "index")
    assert len(Index(tmp_path / "index")) == 2


@pytest.mark.parametrize("kind", ["file", "pattern", "renamed", "folder", "rows"])
def test_a_source_that_holds_no_document_any_more_is_refused_and_deletes_nothing(
    folder: Path, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "own").mkdir()
    exported, database = tmp_path / "own" / "one.jsonl", tmp_path / "rows.db"
    exported.write_text('{"id": "1", "text": "Cows moo."}\n')
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE pages (id, text)")
        connection.execute("INSERT INTO pages VALUES ('1', 'Cows moo.')")
    pattern = f"{exported.parent}/*.jsonl"
    sources = {"file": exported, "pattern": pattern, "renamed": pattern, "folder": exported.parent}
    source = str(sources.get(kind, f"sqlite:///{database}?query=SELECT id, text FROM pages"))
    sync([folder, source], tmp_path / "index")
    exported.write_text("")
    if kind == "renamed":
        exported = exported.rename(exported.with_name("other.jsonl"))
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("DELETE FROM pages")
    (folder / "a.txt").unlink()
    with pytest.raises(InputError, match="holds no document, and held 1 at the last update; nothing is changed"):
        sync([folder, source], tmp_path / "index")
    assert len(Index(tmp_path / "index")) == 3
    exported.write_text('{"id": "2", "text": "Cows moo."}\n')
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("INSERT INTO pages VALUES ('2', 'Cows moo.')")
    sync([folder, source], tmp_path / "index")
    assert [document.doc_id for document in Index(tmp_path / "index")] == ["b.txt", "2"]


def test_a_folder_that_cannot_be_entered_is_an_error_of_its_own(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stat = Path.stat

    def refused(path: Path, **options: bool) -> os.stat_result:
        if path.name == "a.txt":
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", refused)
    with pytest.raises(InputError, match=r"a\.txt: cannot be read: Permission denied"):
        list(files_of(folder, CorpusOptions(), Notes()))


def test_a_watch_that_fails_ends_with_its_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def watch(*places: Path, **options: object) -> Iterator[set[tuple[object, str]]]:
        yield {(1, "a.txt")}
        raise OSError("OS file watch limit reached")

    monkeypatch.setattr("longrank.verbs.sync.load_watch", lambda: watch)
    with pytest.raises(OSError, match="file watch limit"):
        list(watched([folder]))


def test_watching_yields_at_once_and_after_each_change(folder: Path) -> None:
    pytest.importorskip("watchfiles")
    moments = watched([folder])
    next(moments)
    (folder / "c.txt").write_text("Cows moo.")
    next(moments)
    (folder / "c.txt").unlink()
    next(moments)


def test_a_watched_file_is_followed_when_it_is_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("watchfiles")
    monkeypatch.setattr("longrank.verbs.sync._SCAN", 600.0)
    moments = watched([folder / "a.txt"])
    next(moments)
    for n in range(3):
        (folder / "new").write_text(f"Dogs howl {n} times.")
        (folder / "new").replace(folder / "a.txt")
        next(moments)


def test_a_watched_folder_is_followed_when_it_is_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("watchfiles")
    monkeypatch.setattr("longrank.verbs.sync._SCAN", 600.0)
    moments = watched([folder])
    next(moments)
    for n in range(2):
        folder.rename(folder.with_name(f"old{n}"))
        folder.mkdir()
        next(moments)
        (folder / "new.txt").write_text(f"Dogs howl {n} times.")
        next(moments)


def test_watched_files_are_followed_when_their_folder_is_replaced_by_an_empty_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("watchfiles")
    monkeypatch.setattr("longrank.verbs.sync._SCAN", 600.0)
    moments = watched([folder / "a.txt"])
    next(moments)
    folder.rename(folder.with_name("old"))
    folder.mkdir()
    next(moments)
    (folder / "a.txt").write_text("Dogs howl.")
    next(moments)


def test_events_of_a_watched_file_count_by_its_resolved_folder_and_those_of_its_neighbours_do_not(
    folder: Path, tmp_path: Path
) -> None:
    from longrank.verbs import sync as module

    def watch(*places: Path, **options: object) -> Iterator[set[tuple[object, str]]]:
        for names in (["b.txt"], [], ["b.txt", "a.txt"]):
            yield {(1, str(folder.resolve() / name)) for name in names}

    (tmp_path / "link").symlink_to(folder)
    (watching,) = module._watches([tmp_path / "link" / "a.txt"])
    events: SimpleQueue[bool | Exception] = SimpleQueue()
    module._put_events(watch, watching, events, Event())
    assert [events.get() for _ in range(3)] == [False, False, True]


def read(index: Path) -> dict[str, str]:
    return {document.doc_id: document.text for document in Index(index)}


def killed_sync(folder: Path, index: Path, when: str) -> None:
    """Update an index, and end it before the record of its beginning, before its commit, or after it."""
    written: list[Sources] = []

    def write(place: Path, sources: Sources) -> None:
        if len(written) == (0 if when == "at the beginning" else 1):
            raise LongRankError("the disk is full")
        written.append(sources)
        write_sources(place, sources)

    def publish(*_: object) -> None:
        raise LongRankError("the disk is full")

    with pytest.MonkeyPatch.context() as patch, pytest.raises(LongRankError, match="the disk is full") as caught:
        patch.setattr("longrank.verbs.updates.write_sources", write)
        if when == "before the commit":
            patch.setattr("longrank.index.writer.publish_segments", publish)
        sync([folder], index)
    assert ("the index is up to date" in str(caught.value)) == (when == "after the commit")


KILLED = ["at the beginning", "before the commit", "after the commit"]


@pytest.mark.parametrize("when", KILLED)
def test_an_update_that_dies_beside_its_commit_leaves_no_document_of_a_file_that_then_vanishes(
    folder: Path, tmp_path: Path, when: str
) -> None:
    sync([folder], tmp_path / "index")
    (folder / "b.txt").unlink()
    (folder / "c.txt").write_text("Cows moo.")
    killed_sync(folder, tmp_path / "index", when)
    assert ("c.txt" in read(tmp_path / "index")) == (when == "after the commit")
    (folder / "c.txt").unlink()
    sync([folder], tmp_path / "index")
    assert read(tmp_path / "index") == {"a.txt": "Dogs bark."}
    assert not any(sync([folder], tmp_path / "index"))


@pytest.mark.parametrize("when", KILLED)
def test_a_vanished_file_that_is_back_after_an_update_that_died_has_its_document(
    folder: Path, tmp_path: Path, when: str
) -> None:
    sync([folder], tmp_path / "index")
    (folder / "b.txt").rename(tmp_path / "b.txt")
    killed_sync(folder, tmp_path / "index", when)
    (tmp_path / "b.txt").rename(folder / "b.txt")
    notes = Notes()
    sync([folder], tmp_path / "index", notes=notes)
    assert notes.lines() == []
    assert read(tmp_path / "index") == {"a.txt": "Dogs bark.", "b.txt": "Cats purr."}
    assert not any(sync([folder], tmp_path / "index"))


@pytest.mark.parametrize("when", KILLED)
def test_changes_of_another_command_after_an_update_that_died_are_noted(
    folder: Path, tmp_path: Path, when: str
) -> None:
    index, rows = tmp_path / "notes.index", folder / "rows.jsonl"
    rows.write_text('{"id":"x","text":"fog"}\n{"id":"y","text":"tide"}\n')
    sync([folder], index)
    rows.write_text('{"id":"x","text":"fog"}\n')
    killed_sync(folder, index, when)
    with Index(index).writer() as writer:
        writer.add([("y", "My own.")], replace=True)
        writer.delete(["a.txt"])
    notes = Notes()
    sync([folder], index, notes=notes)
    other = "another command has changed the index since its last update: all files were compared with it"
    gone = "documents deleted whose files are gone or hold other ids, also if another command has added them again"
    assert notes.lines() == [other, f"{gone}: 1 (first: y)"]
    assert read(index) == {"a.txt": "Dogs bark.", "b.txt": "Cats purr.", "x": "fog"}
    assert not any(sync([folder], index, notes=(quiet := Notes())))
    assert quiet.lines() == []


@pytest.mark.parametrize("changed", [["b.jsonl"], ["a.jsonl", "b.jsonl"]])
def test_an_id_of_two_files_is_an_error_of_an_update_as_of_a_build(tmp_path: Path, changed: list[str]) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.jsonl").write_text(f'{{"id": "{name}1", "text": "{name}"}}\n')
    sync([folder], tmp_path / "index")
    for name in changed:
        with (folder / name).open("a") as stream:
            stream.write('{"id": "a1", "text": "another"}\n' if name == "b.jsonl" else "\n")
    with pytest.raises(InputError, match=r"doc_id occurs twice, first in .*a\.jsonl") as caught:
        sync([folder], tmp_path / "index")
    assert f"{folder / 'b.jsonl'}:2" in str(caught.value)
    assert read(tmp_path / "index") == {"a1": "a", "b1": "b"}


def test_a_file_that_changes_again_without_a_new_time_is_read_again(folder: Path, tmp_path: Path) -> None:
    sync([folder], tmp_path / "index")
    time = (folder / "a.txt").stat().st_mtime_ns
    (folder / "a.txt").write_text("Dogs howl")
    (folder / "a.txt").write_text("Dogs sing.")
    os.utime(folder / "a.txt", ns=(time, time))
    assert sync([folder], tmp_path / "index").changed == [str(folder / "a.txt")]
    assert read(tmp_path / "index")["a.txt"] == "Dogs sing."


def test_an_update_begins_at_the_record_of_another_that_ended_before_it_had_the_lock(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync([folder], tmp_path / "index")
    (folder / "b.txt").unlink()
    from longrank.verbs import updates

    real, calls = updates.states_now, []

    def now(*given: Any) -> dict[str, SourceState]:
        found = real(*given)
        if not calls:  # another process indexes a file, which vanishes before this one has the lock
            calls.append(found)
            (folder / "c.txt").write_text("Cows moo.")
            sync([folder], tmp_path / "index")
            (folder / "c.txt").unlink()
        return found

    monkeypatch.setattr(updates, "states_now", now)
    sync([folder], tmp_path / "index")
    assert read(tmp_path / "index") == {"a.txt": "Dogs bark."}
    assert not any(sync([folder], tmp_path / "index"))


@pytest.mark.parametrize("built", [False, True])
def test_a_file_that_is_read_with_another_content_than_before_and_after_is_read_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: bool
) -> None:
    from longrank.verbs import recorded_build, updates

    if built:
        sync([folder], tmp_path / "index")
        (folder / "a.txt").write_text("Dogs howl.")
    before = (folder / "a.txt").read_text()
    module, name = (updates, "states_now") if built else (recorded_build, "states_of")
    real = getattr(module, name)

    def listed(*given: Any) -> Any:
        found = real(*given)
        (folder / "a.txt").write_text("Cows moo.")
        return found

    with monkeypatch.context() as patched:
        patched.setattr(module, name, listed)
        sync([folder], tmp_path / "index")
    assert read(tmp_path / "index")["a.txt"] == "Cows moo."
    (folder / "a.txt").write_text(before)
    sync([folder], tmp_path / "index")
    assert read(tmp_path / "index") == {"a.txt": before, "b.txt": "Cats purr."}
    assert not any(sync([folder], tmp_path / "index"))


@pytest.mark.parametrize("stays", [False, True])
def test_a_file_that_appears_after_the_files_were_listed_is_known_to_the_next_update(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stays: bool
) -> None:
    from longrank.verbs import recorded_build

    real = recorded_build.states_of

    def listed(*given: Any) -> Any:
        found = real(*given)
        (folder / "c.txt").write_text("Cows moo.")
        return found

    with monkeypatch.context() as patched:
        patched.setattr(recorded_build, "states_of", listed)
        sync([folder], tmp_path / "index")
    if not stays:
        (folder / "c.txt").unlink()
    sync([folder], tmp_path / "index")
    assert read(tmp_path / "index") == {"a.txt": "Dogs bark.", "b.txt": "Cats purr."} | (
        {"c.txt": "Cows moo."} if stays else {}
    )
    assert not any(sync([folder], tmp_path / "index"))


@pytest.mark.parametrize("built", [False, True])
def test_a_file_that_is_away_while_documents_are_read_is_indexed_when_it_is_back(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: bool
) -> None:
    from longrank.verbs import recorded_build, updates

    times, away = (1_000_000_000, 1_000_000_000), tmp_path / "away"
    os.utime(folder / "b.txt", times)
    if built:
        sync([folder], tmp_path / "index")
        (folder / "b.txt").write_text("Cats meow.")
        os.utime(folder / "b.txt", (times[0], times[1] + 5))
    module, name = (updates, "locate_in_files") if built else (recorded_build, "locate_documents")
    read_from = getattr(module, name)

    def while_away(*given: Any) -> Iterator[Located]:
        (folder / "b.txt").rename(away)
        yield from read_from(*given)
        away.rename(folder / "b.txt")

    with monkeypatch.context() as patched:
        patched.setattr(module, name, while_away)
        sync([folder], tmp_path / "index")
    assert read(tmp_path / "index") == {"a.txt": "Dogs bark."}
    sync([folder], tmp_path / "index")
    assert read(tmp_path / "index") == {"a.txt": "Dogs bark.", "b.txt": "Cats meow." if built else "Cats purr."}
    assert not any(sync([folder], tmp_path / "index"))


def test_a_file_that_cannot_be_read_is_tried_once_more(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from longrank.collections.documents import READERS

    (folder / "bad.txt").write_bytes(b"\0" * 9)
    real, moved = READERS["text"], []

    def while_away(file: SourceFile, notes: Notes, options: CorpusOptions) -> Iterator[Record]:
        if file.path.name != "b.txt" or moved:
            yield from real(file, notes, options)
            return
        moved.append(file.path.rename(tmp_path / "away"))
        try:
            yield from real(file, notes, options)
        finally:
            moved[0].rename(file.path)

    monkeypatch.setitem(READERS, "text", while_away)
    sync([folder], tmp_path / "index")
    assert read(tmp_path / "index") == {"a.txt": "Dogs bark."}
    assert sync([folder], tmp_path / "index").changed == [str(folder / name) for name in ("b.txt", "bad.txt")]
    assert read(tmp_path / "index") == {"a.txt": "Dogs bark.", "b.txt": "Cats purr."}
    assert not any(sync([folder], tmp_path / "index"))
    (folder / "bad.txt").write_text("Cows moo.")
    assert sync([folder], tmp_path / "index").added == 1


@pytest.mark.parametrize("linked", [False, True])
def test_full_texts_of_a_cord19_release_are_sources_as_its_table_is(tmp_path: Path, linked: bool) -> None:
    release = tmp_path / "release"
    release.mkdir()
    if linked:
        (tmp_path / "store").mkdir()
        (release / "document_parses").symlink_to(tmp_path / "store")
        (tmp_path / "store" / "loop").symlink_to(tmp_path / "store")
        (release / "up").symlink_to(tmp_path)
    parses = release / "document_parses" / "pdf_json"
    parses.mkdir(parents=True)
    table = "cord_uid,sha,title,abstract,pdf_json_files,pmc_json_files\n"
    (release / "metadata.csv").write_text(table + "a,s,Bees,honey,document_parses/pdf_json/s.json,\n")
    os.utime(release / "metadata.csv", (1_000_000_000, 1_000_000_000))
    sync([release], tmp_path / "index")
    assert read(tmp_path / "index") == {"a": "honey"}
    for year, text in enumerate(("zebrafish swim", "an octopus swims"), 1):
        (parses / "s.json").write_text(json.dumps({"body_text": [{"text": text, "section": ""}], "abstract": []}))
        os.utime(parses / "s.json", (year * 10**9, year * 10**9))
        assert sync([release], tmp_path / "index").changed == [str(release / "metadata.csv")]
        assert text in read(tmp_path / "index")["a"]
        assert not any(sync([release], tmp_path / "index"))


def test_a_full_text_that_changes_within_the_clock_of_its_file_system_is_read_again(tmp_path: Path) -> None:
    text, index = tmp_path / "release" / "document_parses" / "pdf_json" / "s.json", tmp_path / "index"
    text.parent.mkdir(parents=True)
    table = (
        "cord_uid,sha,title,abstract,pdf_json_files,pmc_json_files\na,s,Bees,honey,document_parses/pdf_json/s.json,\n"
    )
    (tmp_path / "release" / "metadata.csv").write_text(table)
    now = time.time_ns() + 60 * 10**9  # of a clock that goes ahead: as young as a file can be, on a slow machine, too
    for word in ("apple", "melon"):
        text.write_text(json.dumps({"body_text": [{"text": f"a {word}", "section": ""}], "abstract": []}))
        os.utime(text, ns=(now, now))
        sync([tmp_path / "release"], index)
        assert word in read(index)["a"]


def test_a_release_whose_full_texts_are_all_gone_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release, index = tmp_path / "release", tmp_path / "index"
    parses = release / "document_parses"
    parses.mkdir(parents=True)
    table = "cord_uid,sha,title,abstract,pdf_json_files,pmc_json_files\n"
    (release / "metadata.csv").write_text(table + "a,s,Bees,honey,document_parses/s.json,\n")
    (parses / "s.json").write_text(json.dumps({"body_text": [{"text": "wax", "section": ""}], "abstract": []}))
    sync([release], index)
    before = read(index)
    parses.rename(tmp_path / "away")
    with pytest.raises(
        InputError, match=r"metadata\.csv: full texts lay beside this table at the last update, and none"
    ):
        sync([release], index)
    (tmp_path / "away").rename(parses)
    assert not any(sync([release], index)) and read(index) == before
    (release / "mine.json").write_text("{}")  # of something else
    assert sync([release], index)[3:] == (0, 0)
    (parses / "s.json").rename(tmp_path / "away.json")
    (release / "mine.json").unlink()
    with pytest.raises(InputError, match="full texts lay beside this table"):
        sync([release], index)
    (tmp_path / "away.json").rename(parses / "s.json")
    sync([release], index)

    def refusing(path: Path, **options: Any) -> Any:
        if path.name == "s.json":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, **options)

    real = Path.stat
    os.utime(release / "metadata.csv", (1_000_000_000, 1_000_000_000))
    with (release / "metadata.csv").open("a") as stream:
        stream.write("b,,Wasps,paper,,\n")
    with monkeypatch.context() as locked:
        locked.setattr(Path, "stat", refusing)
        with pytest.raises(InputError, match=r"s\.json: cannot be read: Permission denied"):
            Index.build([release])
    assert sync([release], index).added == 1


def test_a_full_text_that_is_away_while_a_release_is_read_is_indexed_when_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from longrank.verbs import recorded_build

    release = tmp_path / "release"
    text = release / "document_parses" / "pdf_json" / "s.json"
    text.parent.mkdir(parents=True)
    table = "cord_uid,sha,title,abstract,pdf_json_files,pmc_json_files\n"
    (release / "metadata.csv").write_text(table + "a,s,Bees,honey,document_parses/pdf_json/s.json,\n")
    text.write_text(json.dumps({"body_text": [{"text": "zebrafish swim", "section": ""}], "abstract": []}))
    read_from = recorded_build.locate_documents

    def while_away(*given: Any) -> Iterator[Located]:
        text.rename(tmp_path / "away")
        yield from read_from(*given)
        (tmp_path / "away").rename(text)

    with monkeypatch.context() as patched:
        patched.setattr(recorded_build, "locate_documents", while_away)
        sync([release], tmp_path / "index")
    assert read(tmp_path / "index") == {"a": "honey"}
    sync([release], tmp_path / "index")
    assert "zebrafish swim" in read(tmp_path / "index")["a"]
    assert not any(sync([release], tmp_path / "index"))


def test_a_file_that_vanishes_between_two_looks_has_vanished(folder: Path, tmp_path: Path) -> None:
    sync([folder], tmp_path / "index")
    with vanishing(folder / "b.txt"):
        assert update(tmp_path / "index").vanished == [str(folder / "b.txt")]
    assert read(tmp_path / "index") == {"a.txt": "Dogs bark."}


def test_a_build_that_another_build_overtakes_leaves_the_record_of_the_other(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, other = tmp_path / "index", tmp_path / "other"
    other.mkdir()
    (other / "z.txt").write_text("Zebras")
    build = Index.build

    def overtaken(*arguments: Any, **options: Any) -> Index:
        built = build(*arguments, **options)
        monkeypatch.undo()
        sync([other], index.with_name("second"))
        shutil.rmtree(index)
        index.with_name("second").rename(index)  # after the first build has let go of the lock
        return built

    monkeypatch.setattr(Index, "build", overtaken)
    sync([folder], index)
    assert [document.doc_id for document in Index(index)] == ["z.txt"]
    assert not any(update(index))


def test_an_index_without_a_record_is_refused_with_the_command_that_builds_it(folder: Path, tmp_path: Path) -> None:
    sync([folder], tmp_path / "index")
    (tmp_path / "index" / SOURCES).unlink()
    with pytest.raises(InputError, match="no record of its source files") as caught:
        sync([folder], tmp_path / "index")
    assert f"longrank index {folder} -o {tmp_path / 'index'}" in str(caught.value)


@pytest.mark.parametrize(
    "record",
    [
        *("", "[]", "[" * 100_000, '"x"'),
        *('{"sources": [7]}', '{"corpus": "x"}', '{"sources": 7}'),
    ],
)
def test_a_damaged_record_is_one_line(record: str, folder: Path, tmp_path: Path) -> None:
    sync([folder], tmp_path / "index")
    path = tmp_path / "index" / SOURCES
    first, *files = path.read_text().splitlines()
    first = json.dumps({name: value for name, value in json.loads(first).items() if name != "checksum"})
    changed = json.dumps(json.loads(first) | json.loads(record)) if record.startswith('{"') else record
    path.write_text("\n".join([changed, *files]))
    with pytest.raises(InputError, match=r"\.sources\.jsonl cannot be read|has another version") as caught:
        sync([folder], tmp_path / "index")
    assert "\n" not in str(caught.value)
    path.write_text("\n".join([first, json.dumps(json.loads(files[0]) | {"size": "x"}), *files[1:]]))
    with pytest.raises(InputError, match=r"\.sources\.jsonl cannot be read"):
        sync([folder], tmp_path / "index")


def test_a_pipe_is_no_source_of_sync(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is no file and no folder"):
        sync([tmp_path / "pipe"], tmp_path / "index")
    assert not (tmp_path / "index").exists()


def test_a_pattern_stands_for_the_files_that_match_it_now(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sync(["notes/*.txt"], "index")
    monkeypatch.chdir("/")
    (folder / "a.txt").unlink()
    (folder / "c.txt").write_text("Cows moo.")
    (folder / "d.md").write_text("Ducks quack.")
    assert update(tmp_path / "index") == ([str(folder / "c.txt")], [], [str(folder / "a.txt")], 1, 1)
    monkeypatch.chdir(tmp_path)
    (folder / "e.txt").write_text("Eagles cry.")
    assert sync(["notes/*.txt"], "index").new == [str(folder / "e.txt")]
    assert not any(sync(["notes/*.txt"], "index"))
    with pytest.raises(InputError, match=r"other sources.*longrank sync '.*/notes/\*\.txt' -o index"):
        sync([folder / "b.txt"], "index")
    for path in folder.glob("*.txt"):
        path.unlink()
    with pytest.raises(InputError, match="no file or folder matches"):
        update("index")
    assert len(Index("index")) == 3


def test_a_working_folder_or_a_file_may_have_the_characters_of_a_pattern(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "[x]"
    here.mkdir()
    monkeypatch.chdir(here)
    for name in ("a.txt", "b[1].txt"):
        (here / name).write_text("Dogs bark.")
    sync(["?.txt", "b[1].txt"], "index")
    (here / "c.txt").write_text("Cows moo.")
    assert update("index").new == [str(here / "c.txt")]
    (here / "b[1].txt").rename(here / "b1.txt")
    with pytest.raises(InputError, match=r"b\[1\]\.txt: no such file or folder"):
        update("index")


def test_an_index_may_match_its_own_pattern(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("Dogs bark.")
    build_from_files(["*"], Path("index"), corpus=CorpusOptions(), notes=Notes())
    assert not any(update("index"))
    assert not any(sync(["*"], "index"))


def test_an_index_of_an_earlier_version_keeps_the_files_that_a_pattern_matched(folder: Path, tmp_path: Path) -> None:
    files = [str(folder / name) for name in ("a.txt", "b.txt")]
    sync(files, tmp_path / "index")
    assert not any(sync([str(folder / "*.txt")], tmp_path / "index"))


@pytest.mark.parametrize("name", ["faq?.md", "*.md", "faq[12].md"])
def test_a_file_whose_name_is_the_pattern_takes_no_documents_away(name: str, tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"faq{number}.md").write_text(f"question {number}")
    index = sync([tmp_path / name], tmp_path / "index") and tmp_path / "index"
    (tmp_path / name).write_text("what is it")
    for _ in range(2):  # the file may be one of the matches by the second time
        assert sync([tmp_path / name], index).vanished == []
        assert {"faq1.md", "faq2.md"} <= {document.doc_id for document in Index(index)}
    (tmp_path / name).unlink()
    update(index)
    assert {document.doc_id for document in Index(index)} == {"faq1.md", "faq2.md"}


def test_a_folder_whose_name_looks_like_a_pattern_stays_a_folder(tmp_path: Path) -> None:
    for folder in ("docs [old]", "docs o"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.md").write_text(f"of {folder}")
    sources = [tmp_path / "docs [old]"]
    sync(sources, tmp_path / "index")
    (tmp_path / "docs [old]" / "b.md").write_text("new")
    assert sync(sources, tmp_path / "index").vanished == []
    assert Index(tmp_path / "index").n_docs == 2
    for name in ("a.md", "b.md"):
        (tmp_path / "docs [old]" / name).unlink()
    with pytest.raises(InputError):
        sync(sources, tmp_path / "index")
    assert Index(tmp_path / "index").n_docs == 2
