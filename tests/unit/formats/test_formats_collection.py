from __future__ import annotations

from pathlib import Path

import pytest

from longrank.errors import InputError
from longrank.formats.collection import Collection, open_collection


def test_a_collection_folder_names_its_parts(tmp_path: Path) -> None:
    for name in ("docs.jsonl.gz", "queries.jsonl", "qrels.txt", "passage_qrels.txt", "folds.json", "README.md"):
        (tmp_path / name).touch()
    assert open_collection(tmp_path) == Collection(
        name=tmp_path.name,
        sources=(str(tmp_path / "docs.jsonl.gz"),),
        queries=str(tmp_path / "queries.jsonl"),
        qrels=str(tmp_path / "qrels.txt"),
        passage_qrels=str(tmp_path / "passage_qrels.txt"),
        folds=str(tmp_path / "folds.json"),
    )


def test_only_documents_are_needed(tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").touch()
    assert open_collection(tmp_path) == Collection(tmp_path.name, (str(tmp_path / "docs.jsonl"),))


def test_what_is_no_collection_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no docs\.jsonl; a collection folder holds"):
        open_collection(tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        open_collection(tmp_path / "no")
    (tmp_path / "docs.jsonl").touch()
    (tmp_path / "docs.jsonl.gz").touch()
    with pytest.raises(InputError, match="lies there packed and unpacked"):
        open_collection(tmp_path)


def test_real_collection_folders_are_told(shared_data: Path) -> None:
    collection = open_collection(shared_data / "scifact")
    assert collection.name == "scifact"
    assert [Path(part).name for part in (collection.queries, collection.qrels, collection.passage_qrels) if part] == [
        "queries.jsonl",
        "qrels.txt",
        "passage_qrels.txt",
    ]
    assert collection.folds is None
