"""Writers of an index: what they refuse, and what readers see meanwhile."""

from __future__ import annotations

import gc
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import longrank
from longrank.errors import InputError, IntegrityError, LongRankError
from longrank.formats.records import CorpusOptions
from longrank.index import Index, tiers, verify_index
from longrank.index.tiers import Size
from longrank.types import Notes

DOCS = [("d1", "Dogs bark."), ("d2", "Cats purr."), ("d3", "Cows moo.")]


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return Index.build(DOCS, tmp_path / "index")


@pytest.fixture(autouse=True)
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def ids(index: Index) -> list[str]:
    return [document.doc_id for document in index]


def test_added_documents_come_last_and_replaced_documents_move_to_the_end(index: Index) -> None:
    changed = index.add([("d0", "Pigs grunt.")])
    assert ids(changed) == ["d1", "d2", "d3", "d0"]
    assert ids(changed.add([("d2", "Cats meow.")], replace=True)) == ["d1", "d3", "d0", "d2"]


def test_an_open_index_stays_as_it_was_opened(index: Index) -> None:
    changed = index.delete(["d1"]).add([("d4", "Pigs grunt.")]).merge()
    assert ids(index) == ["d1", "d2", "d3"]
    assert index.document("d1").text == "Dogs bark."
    assert index.df("bark") == 1
    assert ids(changed) == ["d2", "d3", "d4"]
    assert changed.df("bark") == 0


def test_an_index_stays_itself_in_another_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, names in (("here", ["a", "b"]), ("there", ["a", "z"])):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        Index.build([(name, f"{folder} {name}") for name in names], "my.index")
    monkeypatch.chdir(tmp_path / "here")
    index = Index("my.index")
    monkeypatch.chdir(tmp_path / "there")
    assert index.document("a").text == "here a"
    assert ids(index.delete(["a"])) == ["b"]
    assert longrank.check(index) > 0
    monkeypatch.chdir(tmp_path)
    assert [ids(Index(f"{folder}/my.index")) for folder in ("here", "there")] == [["b"], ["a", "z"]]


def test_a_child_process_leaves_the_temporary_folder_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index.build(DOCS)
    folder = index.path
    with monkeypatch.context() as child:
        child.setattr(os, "getpid", lambda: -1)
        del index
        gc.collect()
    assert folder.is_dir()
    shutil.rmtree(folder)


def test_integers_are_ids_as_in_the_documents(tmp_path: Path) -> None:
    index = Index.build([(7, "x honey"), (8, "y")], tmp_path / "numbers")
    assert (index.document(7).text, index.number(7), index.metadata(7)) == ("x honey", 0, {})  # type: ignore[arg-type]
    assert 7 in index and 9 not in index and None not in index
    with index.writer() as writer:
        assert 7 in writer and 9 not in writer and None not in writer
    assert ids(index.delete([7])) == ["8"]  # type: ignore[list-item]
    with pytest.raises(InputError, match="doc_id is neither a string nor an integer"):
        index.delete([1.5])  # type: ignore[list-item]


def test_an_error_inside_the_block_leaves_the_index_as_it_was(index: Index) -> None:
    before = contents(index.path)
    with pytest.raises(ZeroDivisionError), index.writer() as writer:
        writer.add([("d4", "Pigs grunt.")])
        writer.delete(["d1"])
        raise ZeroDivisionError
    assert contents(index.path) == before


def test_a_block_without_a_change_writes_nothing(index: Index) -> None:
    before = contents(index.path)
    with index.writer() as writer:
        assert writer.delete([]) == 0
        writer.merge()
    assert contents(index.path) == before


def test_a_document_that_is_added_and_deleted_in_one_block_leaves_no_trace(index: Index) -> None:
    before = contents(index.path)
    with index.writer() as writer:
        writer.add([("d4", "Pigs grunt.")])
        assert "d4" in writer
        assert writer.delete(["d4", "d4"]) == 1
    assert contents(index.path) == before


@pytest.mark.parametrize(
    ("documents", "got"),
    [([("d4", "x"), ("d4", "y")], "d4"), ([("d4", "x"), ("d2", "y")], "d2")],
    ids=["twice", "in the index"],
)
def test_an_id_is_added_once(index: Index, documents: list[tuple[str, str]], got: str) -> None:
    with pytest.raises(InputError, match=f"doc_id .*got '{got}'"):
        index.add(documents)
    assert ids(Index(index.path)) == ["d1", "d2", "d3"]


def test_a_document_to_delete_must_be_in_the_index_unless_missing_documents_are_counted(index: Index) -> None:
    with pytest.raises(InputError, match=r"no such document in the index.*'d9'"):
        index.delete(["d1", "d9"])
    notes = Notes()
    with index.writer(notes) as writer:
        assert writer.delete(["d1", "d9"], missing="ignore") == 1
    assert notes.lines() == ["documents to delete that the index lacks: 1 (first: d9)"]
    assert ids(Index(index.path)) == ["d2", "d3"]


@pytest.mark.parametrize("error", [TimeoutError("the web site"), FileNotFoundError(2, "No such file", "my.txt")])
def test_an_error_of_the_documents_is_no_error_of_writing(index: Index, tmp_path: Path, error: OSError) -> None:
    def documents() -> Iterator[tuple[str, str]]:
        yield "d7", "Dogs bark."
        raise error

    with pytest.raises(type(error)) as caught, index.writer() as writer:
        writer.add(documents())
    assert caught.value is error
    with pytest.raises(type(error)):
        Index.build(documents(), tmp_path / "new")
    assert "d7" not in Index(index.path) and not (tmp_path / "new").exists()


@pytest.mark.parametrize("place", ["data/terms", ".i.abcd.tmp/data"])
def test_an_error_of_writing_names_the_index(index: Index, place: str) -> None:
    failing = index.path / place if place[0] != "." else index.path.parent / place
    with pytest.raises(LongRankError, match=f"cannot write {index.path}: Input/output error"), index.writer():
        raise OSError(5, "Input/output error", str(failing))
    with pytest.raises(LongRankError, match=r"cannot write .*: 6 requested and 0 written"), index.writer():
        raise OSError("6 requested and 0 written")


def test_ids_to_delete_are_a_list(index: Index) -> None:
    given: list[Any] = ["d1", b"d1", bytearray(b"d1"), 1]
    for ids_ in given:
        with pytest.raises(InputError, match="ids of documents are a list"):
            index.delete(ids_)
    with pytest.raises(InputError, match="`missing` must be error or ignore"):
        index.delete(["d1"], missing="skip")


def test_a_document_must_remain(index: Index) -> None:
    with pytest.raises(InputError, match="no document would remain"):
        index.delete(["d1", "d2", "d3"])


def test_there_is_one_writer_at_a_time(index: Index) -> None:
    with index.writer(), pytest.raises(InputError, match="is being written by pid"):
        index.delete(["d1"])


def test_a_writer_builds_on_the_newest_state_not_on_that_of_the_open_index(index: Index) -> None:
    index.add([("d4", "Pigs grunt.")])
    assert ids(index.add([("d5", "Hens cluck.")])) == ["d1", "d2", "d3", "d4", "d5"]


def test_added_documents_are_indexed_with_the_options_of_the_index(tmp_path: Path) -> None:
    index = Index.build(DOCS, tmp_path / "index", analyzer="none")
    index = index.add([("d4", "The running dogs")]).add([("d5", "Running")])
    assert (index.df("the"), index.df("running")) == (1, 2)


@pytest.mark.parametrize("kind", ["data", "deleted"])
def test_check_names_a_damaged_file_of_any_segment(index: Index, kind: str) -> None:
    changed = index.add([("d4", "Pigs grunt.")]).delete(["d1"])
    assert verify_index(changed.path) > 0
    path = next(iter(changed.path.glob("deleted-*"))) if kind == "deleted" else changed.parts[1].folder / "texts.bytes"
    content = path.read_bytes()
    path.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    with pytest.raises(IntegrityError, match=path.name):
        verify_index(changed.path)


def test_a_manifest_of_a_changed_index_that_names_no_segment_is_damaged(index: Index) -> None:
    changed = index.delete(["d1"])
    manifest = json.loads((changed.path / "manifest.json").read_text())
    (changed.path / "manifest.json").write_text(json.dumps({**manifest, "segments": [{}]}))
    with pytest.raises(IntegrityError, match="names no data"):
        Index(changed.path)


def test_a_segment_without_living_documents_goes(index: Index) -> None:
    changed = index.add([("d4", "Pigs grunt.")]).delete(["d1", "d2", "d3"])
    assert len(changed.parts) == 1
    assert changed.digest == Index.build([("d4", "Pigs grunt.")]).digest


def test_files_stay_bounded_over_many_small_commits(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "_FLOOR", 10)
    for number in range(30):
        index = index.add([(f"new{number}", f"word{number}")])
    assert len(index) == 33
    assert len(index.parts) <= 14
    assert len(list(index.path.glob("data-*"))) == len(index.parts)


@pytest.mark.parametrize(
    ("sizes", "run"),
    [
        ([], None),
        ([(9, 9)] * 7, None),
        ([(9, 9)] * 8, (0, 8)),
        ([(90_000, 90_000), *[(9, 9)] * 8], (1, 9)),
        ([(90_000, 90_000), *[(9, 9)] * 7], None),  # the large segment stays as it is
        ([(90_000, 90_000), *[(8000, 8000)] * 7, *[(1, 1)] * 7], None),
        ([(90_000, 90_000), *[(8000, 8000)] * 8, (1, 1)], (1, 9)),
        ([(90_000, 90_000), *[(9, 9)] * 3, *[(8000, 8000)] * 5, (1, 1)], (1, 9)),  # small ones before larger ones
        ([(90_000, 90_000), (40_000, 90_000)], (1, 2)),
        ([(4, 10)], None),
    ],
)
def test_eight_segments_of_a_tier_are_merged_and_half_dead_segments_are_rewritten(
    sizes: list[tuple[int, int]], run: tuple[int, int] | None
) -> None:
    assert tiers.next_merge([Size(*size) for size in sizes]) == run


def test_a_merge_does_not_copy_damage_into_files_with_good_checksums(index: Index) -> None:
    changed = index.add([("d4", "Pigs grunt.")])
    (path,) = [each for each in changed.path.rglob("*") if each.is_file() and b"Cows moo." in each.read_bytes()]
    path.write_bytes(path.read_bytes().replace(b"Cows moo.", b"Cows mow."))
    before = contents(index.path)
    with pytest.raises(IntegrityError, match="checksum differs"):
        Index(index.path).merge()
    assert contents(index.path) == before


@pytest.mark.parametrize(
    "read",
    [
        {"index_only": ("url",)},
        {"title_in_text": True},
        {"metadata": ("year",)},
        {"metadata": ()},
        {"fields": ("title", "body"), "index_only": ("url",), "title_in_text": True},
    ],
)
def test_documents_that_are_added_are_read_as_the_first_documents_were(tmp_path: Path, read: dict[str, Any]) -> None:
    rows = [
        {"id": f"d{n}", "title": f"Title {n}", "text": "bees", "body": "river", "url": f"site{n}", "year": n}
        for n in range(4)
    ]
    whole = Index.build(rows, tmp_path / "whole", corpus=CorpusOptions(**read))
    changed = Index.build(rows[:2], tmp_path / "changed", corpus=CorpusOptions(**read)).add(rows[2:3])
    changed = changed.add(rows[3:], corpus=CorpusOptions(format="jsonl"))  # other options stay those of the index
    for index in (whole, changed):
        assert index.options == whole.options
        assert [(one.text, index.metadata(one.doc_id)) for one in index] == [
            (one.text, whole.metadata(one.doc_id)) for one in whole
        ]
    assert len(changed.add([("plain", {"text": "bees", "body": "bees"})])) == 5
    for query in ("site3", "title"):
        runs = [longrank.retrieve(index, {"q": query}, k=9).rows() for index in (whole, changed)]
        assert [*runs[0]] == [*runs[1]]


@pytest.mark.parametrize("other", [{"fields": ("text",)}, {"index_only": ("url",)}, {"metadata": ()}])
def test_options_of_a_new_index_are_refused_where_documents_are_added(tmp_path: Path, other: dict[str, Any]) -> None:
    index = Index.build([("a", "bees")], tmp_path / "index")
    with pytest.raises(InputError, match=f"`{next(iter(other))}` is an option of a new index"):
        index.add([("b", "bees")], corpus=CorpusOptions(**other))


def test_equal_options_may_be_given_in_another_form(tmp_path: Path) -> None:
    corpus = CorpusOptions(fields=["title", "text"], metadata=("a", "b"))  # type: ignore[arg-type]
    index = Index.build([{"id": "x", "text": "bees", "a": 1, "b": 2}], tmp_path / "index", corpus=corpus)
    again = CorpusOptions(fields=["title", "text"], metadata=["b", "a"])  # type: ignore[arg-type]
    assert len(index.add([("y", "bees")], corpus=again)) == 2
