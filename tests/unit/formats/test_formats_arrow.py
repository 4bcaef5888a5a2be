"""Documents from Parquet and Arrow files, and from datasets that Hugging Face ``datasets`` saved."""

from __future__ import annotations

import base64
import datetime
import json
import shutil
import struct
import zlib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from longrank.cli.main import main
from longrank.collections import read_documents, read_queries
from longrank.errors import InputError, MissingExtra
from longrank.formats.records import CorpusOptions
from longrank.index import Index
from longrank.types import Document, Notes
from longrank.verbs.sync import sync

pa = pytest.importorskip("pyarrow", reason="needs the extra arrow")

COLUMNS: dict[str, list[Any]] = {
    "id": [7, 8],
    "title": ["Tides", None],
    "text": ["The tide is high.", "Fog hides the bay."],
    "tags": [["sea", "moon"], []],
    "day": [datetime.date(2020, 1, 2), None],
    "price": [Decimal("1.50"), Decimal("2.00")],
}
DOCUMENTS = [
    Document("7", "Tides", "The tide is high.", (), {"tags": ["sea", "moon"], "day": "2020-01-02", "price": 1.5}),
    Document("8", "", "Fog hides the bay.", (), {"tags": [], "price": 2}),
]


def write(path: Path, columns: dict[str, Any]) -> Path:
    """Write a Parquet file, an Arrow file or, named ``.stream.arrow``, an Arrow stream."""
    from pyarrow import parquet

    table = pa.table(columns)
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
        return path
    new = pa.ipc.new_stream if path.name.endswith(".stream.arrow") else pa.ipc.new_file
    with new(str(path), table.schema) as writer:
        writer.write_table(table)
    return path


@pytest.fixture(params=["x.parquet", "x.arrow", "x.feather", "x.stream.arrow"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_columns_are_the_fields_of_documents(tmp_path: Path, name: str) -> None:
    assert list(read_documents(write(tmp_path / name, COLUMNS))) == DOCUMENTS


def test_many_rows_keep_their_order_and_number(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, {"doc_id": [f"d{n}" for n in range(2500)], "text": ["x"] * 2499 + [None]})
    documents = read_documents(path)
    assert [next(documents).doc_id for _ in range(2499)] == [f"d{n}" for n in range(2499)]
    with pytest.raises(InputError, match=f"{name}:2500: 'text' is null"):
        next(documents)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"text": ["a"]}, "no column of ids .*'text'.*doc_id or id"),
        ({"id": [1.5], "text": ["a"]}, ":1: 'id' is neither a string nor an integer"),
        ({"id": ["a b"], "text": ["a"]}, ":1: 'id' holds white space"),
        ({"id": ["a"], "text": [3]}, ":1: 'text' is not a string"),
        ({"id": ["a"], "title": ["x"]}, ":1: no text"),
    ],
)
def test_rows_that_are_no_documents_are_refused(
    tmp_path: Path, name: str, columns: dict[str, list[Any]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        list(read_documents(write(tmp_path / name, columns)))


def test_a_damaged_file_is_one_line(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, COLUMNS)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(InputError, match=f"{name}: cannot be read") as caught:
        list(read_documents(path))
    assert str(caught.value).isprintable()


def test_text_that_is_not_utf_8_is_one_line(tmp_path: Path, name: str) -> None:
    texts = pa.array([b"Th\xffy"]).cast(pa.binary()).view(pa.string())
    with pytest.raises(InputError, match=f"{name}: cannot be read: .*Invalid UTF8"):
        list(read_documents(write(tmp_path / name, {"id": ["a"], "text": texts})))


@pytest.mark.parametrize(
    "dates",
    [
        pa.array([10**15, 0], pa.timestamp("s")),
        pa.array([10**12, 0], pa.timestamp("s")),
        pa.array([-(10**17), 0], pa.timestamp("us")),
        pa.array([10**7, 0], pa.date32()),
        pa.array([[10**12], [0]], pa.list_(pa.timestamp("s"))),
    ],
)
def test_dates_that_python_lacks_are_no_metadata_and_no_text(dates: Any, tmp_path: Path, name: str) -> None:
    columns = {"id": ["a", "b"], "text": ["x", "y"], "date": dates}
    for source in (write(tmp_path / name, columns), pa.table(columns)):
        notes = Notes()
        first, second = (document.metadata for document in read_documents(source, None, notes))
        assert (first, "1970-01-01" in str(second)) == ({}, True)
        assert notes["metadata values that are not JSON values, left out"] == 1
        assert len(read_queries(pa.table({"qid": ["a", "b"], "query": ["x", "y"], "date": dates}))) == 2
        with pytest.raises(InputError, match=r"not a string \(got a .* beyond Python's\)"):
            list(read_documents(pa.table({"id": ["a", "b"], "text": dates})))


def test_fields_choose_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", {"id": ["a"], "question": ["Who?"], "context": ["Ann."]})
    (document,) = read_documents(path, CorpusOptions(fields=("question", "context")))
    assert document.text == "Who?\nAnn."


def test_an_index_follows_a_folder_of_parquet_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables, folder = tmp_path / "tables", str(tmp_path / "x.index")
    tables.mkdir()
    write(tables / "a.parquet", COLUMNS)
    assert main(["index", str(tables), "-o", folder]) == 0
    write(tables / "b.parquet", {"id": ["9"], "text": ["A new lamp."]})
    assert main(["index", "--update", folder]) == 0
    assert "added\t1" in capsys.readouterr().out
    assert [document.doc_id for document in Index(folder)] == ["7", "8", "9"]


def test_a_dataset_on_disk_is_read(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="needs Hugging Face datasets")
    dataset = datasets.Dataset.from_dict({"id": [*"abcd"], "text": ["one", "two", "three", "four"]})
    dataset.select([2, 0, 3]).save_to_disk(tmp_path / "three", num_shards=2)
    assert [document.text for document in read_documents(tmp_path / "three")] == ["three", "one", "four"]
    splits = datasets.DatasetDict({"train": dataset.select([0]), "test": dataset.select([1])})
    splits.save_to_disk(tmp_path / "splits")
    assert [document.doc_id for document in read_documents(tmp_path / "splits")] == ["a", "b"]
    assert [document.doc_id for document in read_documents(tmp_path / "splits" / "test")] == ["b"]


@pytest.mark.parametrize("state", ["{", "[]", "{}", '{"_data_files": [{"filename": 3}]}'])
def test_a_dataset_with_a_damaged_list_of_files_is_refused(tmp_path: Path, state: str) -> None:
    (tmp_path / "state.json").write_text(state)
    (tmp_path / "dataset_info.json").write_text("{}")
    with pytest.raises(InputError, match="its list of files cannot be read"):
        list(read_documents(tmp_path))


def saved(folder: Path, *names: str) -> None:
    """Write a dataset on disk as ``save_to_disk`` does, a file of one row each."""
    folder.mkdir(parents=True)
    (folder / "dataset_info.json").write_text("{}")
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": f"{name}.arrow"} for name in names]}))
    for name in names:
        write(folder / f"{name}.arrow", {"id": [name], "text": ["Dogs bark."]})


def test_a_split_may_be_empty(tmp_path: Path) -> None:
    saved(tmp_path / "two" / "train", "c")
    saved(tmp_path / "two" / "test")
    (tmp_path / "two" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    assert [document.doc_id for document in read_documents(tmp_path / "two")] == ["c"]


@pytest.mark.parametrize(("name", "gone"), [("one", "b.arrow"), ("two", "test")])
def test_a_part_of_a_dataset_that_is_missing_is_refused_by_a_build_and_by_an_update(
    name: str, gone: str, tmp_path: Path
) -> None:
    saved(tmp_path / "one", "a", "b")
    saved(tmp_path / "two" / "train", "c")
    saved(tmp_path / "two" / "test", "d")
    (tmp_path / "two" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    sync([tmp_path / name], tmp_path / "index")
    assert len(Index(tmp_path / "index")) == 2
    (tmp_path / name / gone).rename(tmp_path / gone)
    for output in ("index", "new"):
        with pytest.raises(InputError, match=rf"a part of this dataset is missing \(got '{gone}'\); save it again"):
            sync([tmp_path / name], tmp_path / output)
    assert len(Index(tmp_path / "index")) == 2


UNKNOWN_TYPE = zlib.decompress(base64.b64decode(
    b"eNq1VLFOwzAQPQenjYqRMlSoQ4eOTFXYGFPBjlQhkYEliIhWgKhSI4WNgaEfw8Bn8AEM/Qj+odzZZ2pZbRfgJOd8vuez350vo/H4/PIYYIWSCY"
    b"AUSDqgoAUxJDhDERJtQCvBr+SvHR84Fjiu2C4wDm5QXZz3eQ3DQpfnurydU8gF4l4tNqYze+wH1lNdPdD8HTFvO3C6ajSqJRL4XHm4voeLCTfV"
    b"95VZk2Y9xRslyLFtmKXMW0Th3ojuckPcFY624U7AnP10ZiMsPxIFh5w5ZSLDnjR3bsBJB21lski5/QKb8wjWcgDbJQ20YN37Od/KkZcjkiyIkw"
    b"V4x8fxKAJ8EeAngd/ZnB+YBfdzdYiCfVGA2+aHDfE27fP90uN/9mjfna3AmufFpHoeXJf13fC01PPB7Kmuh35sEZxVenV3dVAYrWUqnnJ+JJxw"
    b"Ddz7zznQC+sm4PFPvbX/m95KbG/BcmWba0dv5X/dWwUSG5l/0ze6wmus"
))  # fmt: skip
"""A damaged file: a list of values whose type pyarrow does not know."""


def test_a_damaged_type_in_a_list_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.arrow").write_bytes(UNKNOWN_TYPE)
    with pytest.raises(InputError, match=r"x\.arrow: cannot be read: unknown type 21"):
        list(read_documents(tmp_path / "x.arrow"))


def test_a_dataset_that_is_gone_and_a_dataset_among_files_are_refused_by_an_update(tmp_path: Path) -> None:
    names = [f"data-{n:05}-of-00002" for n in range(2)]
    saved(tmp_path / "one", *names)
    files = [*(f"{name}.arrow" for name in names), "state.json", "dataset_info.json"]
    (tmp_path / "one" / "README.md").write_text("# About dogs")
    sync([tmp_path / "one"], tmp_path / "index")
    for name in files:
        (tmp_path / "one" / name).rename(tmp_path / name)
    with pytest.raises(
        InputError, match=r"data-00000-of-00002\.arrow: the documents of this collection are gone; put the file back"
    ):
        sync([tmp_path / "one"], tmp_path / "index")
    sync([tmp_path / "one"], tmp_path / "files.index")  # as a folder of files
    for name in files:
        (tmp_path / name).rename(tmp_path / "one" / name)
    assert not any(sync([tmp_path / "one"], tmp_path / "index"))
    with pytest.raises(
        InputError, match=r"is a collection now, of which only data-00000-of-00002\.arrow is read \(got '"
    ):
        sync([tmp_path / "one"], tmp_path / "files.index")


def test_a_dataset_cannot_name_files_outside_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    write(tmp_path / "secret.arrow", COLUMNS)
    (folder / "state.json").write_text('{"_data_files": [{"filename": "../secret.arrow"}]}')
    (folder / "dataset_info.json").write_text("{}")
    with pytest.raises(InputError, match="a part of this dataset is missing"):
        list(read_documents(folder))
    shutil.move(tmp_path / "secret.arrow", folder)
    assert list(read_documents(folder)) == DOCUMENTS


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "x.parquet", COLUMNS)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match="'arrow'"):
        list(read_documents(path))


@pytest.mark.parametrize("ending", [5, 1 << 30])
@pytest.mark.parametrize("name", ["x.arrow", "x.stream.arrow"])
def test_offsets_that_leave_their_text_are_refused(tmp_path: Path, name: str, ending: int) -> None:
    path = write(tmp_path / name, {"id": ["a", "b"], "text": ["The tide is high.", "Fog."]})
    offsets = struct.pack("<3i", 0, 17, 21)
    content = path.read_bytes()
    assert content.count(offsets) == 1
    path.write_bytes(content.replace(offsets, struct.pack("<3i", 0, 17, ending)))
    with pytest.raises(InputError, match=r"cannot be read: .*offset"):
        list(read_documents(path))
