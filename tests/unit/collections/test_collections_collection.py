from __future__ import annotations

from pathlib import Path

import pytest

from longrank.collections.collection import Collection, open_collection, places
from longrank.errors import InputError


def test_a_collection_folder_names_its_parts(tmp_path: Path) -> None:
    for name in ("docs.jsonl.gz", "queries.jsonl", "qrels.txt", "passage_qrels.txt", "folds.json", "README.md"):
        (tmp_path / name).touch()
    assert open_collection(tmp_path) == Collection(
        name=tmp_path.name,
        sources=(str(tmp_path / "docs.jsonl.gz"),),
        queries=(str(tmp_path / "queries.jsonl"),),
        qrels=(str(tmp_path / "qrels.txt"),),
        passage_qrels=(str(tmp_path / "passage_qrels.txt"),),
        folds=tmp_path / "folds.json",
        folder=tmp_path,
    )


def test_no_part_is_needed_until_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").touch()
    collection = open_collection(tmp_path)
    assert collection == Collection(name=tmp_path.name, sources=(str(tmp_path / "docs.jsonl"),), folder=tmp_path)
    assert open_collection(collection) is collection
    with pytest.raises(
        InputError, match=f"^{tmp_path}: is a folder without qrels; a collection folder holds docs.jsonl"
    ):
        places(collection, "qrels")


def test_a_file_stands_for_itself_even_if_it_does_not_exist(tmp_path: Path) -> None:
    assert places(tmp_path / "no.txt", "queries") == (str(tmp_path / "no.txt"),)
    with pytest.raises(InputError, match="the name of the file or collection is empty"):
        places("", "queries")


def test_sources_that_are_no_collections_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        open_collection(tmp_path / "no")
    with pytest.raises(InputError, match="is not a collection"):
        open_collection(7)  # type: ignore[arg-type]
    (tmp_path / "docs.jsonl").touch()
    (tmp_path / "docs.jsonl.gz").touch()
    with pytest.raises(InputError, match="lies there plain and gzipped"):
        open_collection(tmp_path)


def test_real_collection_folders_are_told(shared_data: Path) -> None:
    collection = open_collection(shared_data / "scifact")
    assert collection.name == "scifact"
    parts = (collection.queries, collection.qrels, collection.passage_qrels)
    assert [Path(place).name for part in parts for place in part] == ["queries.jsonl", "qrels.txt", "passage_qrels.txt"]
    assert collection.folds is None


def test_backups_of_editors_are_no_parts_of_a_collection(tmp_path: Path) -> None:
    for name in ("qrels.2019", "qrels.2020.txt", "qrels.2020.txt~", "qrels.2020.txt.bak", "topics.1", "topics.1.ORIG"):
        (tmp_path / name).write_text("")
    collection = open_collection(tmp_path)
    assert [Path(place).name for place in collection.qrels] == ["qrels.2019", "qrels.2020.txt"]
    assert [Path(place).name for place in collection.queries] == ["topics.1"]
