"""Other fields of documents come back from an index, in the same bytes for the same documents."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import longrank
from collections_of_words import located, random_documents
from longrank.cli.main import main
from longrank.errors import InputError, IntegrityError
from longrank.formats.records import CorpusOptions
from longrank.index import Index, batches, build_index, metadata, metadata_writing, verify_index
from longrank.index.filter_parsing import parsed_filter
from longrank.types import Document, Notes

BOOKS: list[dict[str, Any]] = [
    {"id": "a", "text": "dogs bark", "year": 1970, "lang": "en", "tags": ["x", "y"], "size": {"pages": 7}},
    {"id": "b", "title": "Cats", "text": "cats purr", "year": 1970.5, "lang": "Zürich 東京", "draft": True},
    {"id": "c", "text": "no other field"},
    {"id": "d", "text": "big", "year": 2**70, "lang": None, "tags": []},
]


def with_metadata(n: int) -> list[Document]:
    made = []
    for number, document in enumerate(random_documents(n)):
        fields = {"number": number, "even": number % 2 == 0, "name": f"n{number % 7}"}
        chosen = dict(list(fields.items())[: number % 4])
        made.append(Document(document.doc_id, document.title, document.text, document.passages, chosen))
    return made


def test_other_fields_come_back() -> None:
    index = Index.build(BOOKS)
    assert [index.metadata(doc_id) for doc_id in "abcd"] == [
        {"year": 1970, "lang": "en", "tags": ["x", "y"], "size": {"pages": 7}},
        {"year": 1970.5, "lang": "Zürich 東京", "draft": True},
        {},
        {"year": 2**70, "tags": []},
    ]
    assert index.stored is not None
    assert index.stored.fields == ["year", "lang", "tags", "size", "draft"]
    with pytest.raises(KeyError):
        index.metadata("e")


def test_documents_without_other_fields_write_no_file() -> None:
    index = Index.build([("a", "dogs"), ("b", "cats")])
    assert index.stored is None
    assert index.metadata("a") == {}
    assert not list(index.path.rglob(metadata.NAME))


def test_the_chosen_text_and_a_second_id_are_no_metadata() -> None:
    rows = [{"_id": "7", "id": 7, "ident": "other", "abstract": "dogs", "body": "bark", "text": "t", "title": "T"}]
    index = Index.build(rows, corpus=CorpusOptions(fields=("title", "abstract", "body")))
    assert index.metadata("7") == {"ident": "other", "text": "t"}


@pytest.mark.parametrize(("kept", "expected"), [((), {}), (("lang", "none"), {"lang": "en"})])
def test_fields_to_keep(kept: tuple[str, ...], expected: dict[str, Any]) -> None:
    assert Index.build(BOOKS, corpus=CorpusOptions(metadata=kept)).metadata("a") == expected


def test_the_command_keeps_the_fields_that_it_is_told(tmp_path: Path) -> None:
    docs = tmp_path / "docs.jsonl"
    docs.write_text("".join(f"{json.dumps(book)}\n" for book in BOOKS), encoding="utf-8")
    for value, expected in (("all", {"year": 1970.5, "lang": "Zürich 東京", "draft": True}), ("none", {})):
        assert main(["index", str(docs), "-o", str(tmp_path / value), "--metadata", value]) == 0
        assert Index(tmp_path / value).metadata("b") == expected
    assert main(["index", str(docs), "-o", str(tmp_path / "some"), "--metadata", "draft, year"]) == 0
    assert Index(tmp_path / "some").metadata("b") == {"year": 1970.5, "draft": True}
    assert verify_index(tmp_path / "all") == verify_index(tmp_path / "none") + 1


def test_equal_documents_give_equal_bytes_wherever_segments_are_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = with_metadata(120)
    whole = build_index(located(documents), tmp_path / "whole")
    monkeypatch.setattr(batches, "_CHARS", 3000)
    cut = build_index(located(documents), tmp_path / "cut", workers=2)
    assert cut.digest == whole.digest
    files = [next(index.path.rglob(metadata.NAME)).read_bytes() for index in (whole, cut)]
    assert files[0] == files[1]
    assert files[0][96:100] == bytes(4)
    assert all(cut.metadata(document.doc_id) == document.metadata for document in documents)
    assert build_index(located(with_metadata(121)), tmp_path / "more").digest != whole.digest


def test_values_in_memory_become_json_values() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(
        {
            "docno": ["a", "b"],
            "text": ["dogs", "cats"],
            "year": [1970.0, float("nan")],
            "when": [pandas.Timestamp("2020-01-02"), pandas.NaT],
            "pages": pandas.array([7, None], dtype="Int64"),
        }
    )
    index = Index.build(table)
    assert index.notes.lines() == []
    assert (index.metadata("a"), index.metadata("b")) == (
        {"year": 1970.0, "when": "2020-01-02T00:00:00", "pages": 7},
        {},
    )
    notes = Notes()
    values = {"n": np.int64(3), "v": np.array([1, 2]), "day": datetime.date(2020, 1, 2), "odd": object(), "t": (1, "x")}
    values |= {"date": np.datetime64("2020-01-02"), "hour": np.datetime64("2020-01-02T03")}
    index = Index.build([Document("a", "", "dogs", metadata=values)], notes=notes)
    dates = {"day": "2020-01-02", "date": "2020-01-02", "hour": "2020-01-02T03:00:00"}
    assert index.metadata("a") == {"n": 3, "v": [1, 2], "t": [1, "x"], **dates}
    assert index.mask(parsed_filter({"date": np.datetime64("2020-01-02")})).all()
    assert "metadata values that are not JSON values, left out: 1 (first: documents:1: odd)" in notes.lines()


def test_values_that_would_become_other_values_are_left_out_and_counted() -> None:
    notes, deep = Notes(), [1]
    for _ in range(3000):
        deep = [deep]
    odd = {"keys": {1: "a", "1": "b"}, "far": np.datetime64("20000-01-01"), "while": np.timedelta64(1, "ns")}
    odd |= {"digits": 10**5000, "decimal": Decimal("1e9999999"), "deep": deep}
    index = Index.build([Document("a", "", "dogs", metadata={**odd, "long": np.longdouble(2.5)})], notes=notes)
    assert index.metadata("a") == {"long": 2.5}
    assert notes["metadata values that are not JSON values, left out"] == len(odd)


def test_an_infinite_number_has_no_json_form_and_is_counted() -> None:
    notes = Notes()
    values = {"far": float("inf"), "near": np.float32("-inf"), "sum": Decimal("Infinity"), "none": float("nan"), "n": 1}
    index = Index.build([Document("a", "", "dogs", metadata=values)], notes=notes)
    assert index.metadata("a") == {"n": 1}
    assert "metadata values that are not JSON values, left out: 3 (first: documents:1: far)" in notes.lines()


def test_too_many_fields_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata_writing, "MAX_FIELDS", 3)
    Index.build([{"id": "a", "text": "dogs", "x": 1, "y": 2, "z": 3}])
    with pytest.raises(InputError, match=r"more than 3 different fields \(got 'z'\)"):
        Index.build(
            [{"id": "a", "text": "dogs", "v": 0, "w": 0}, {"id": "b", "text": "c", "x": 1, "z": 3}], tmp_path / "i"
        )
    assert not (tmp_path / "i").exists()


@pytest.mark.parametrize("name", ["b\udcff", "100% #1?", "a b"])  # \udcff: a byte that is not UTF-8
def test_a_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    index = Index.build(BOOKS, tmp_path / name)
    assert Index(tmp_path / name).metadata("a")["year"] == 1970
    index.add([Document("new", "", "a new book", metadata={"year": 7})])
    assert Index(tmp_path / name).metadata("new") == {"year": 7}


def test_a_document_of_an_index_has_its_metadata_in_other_indexes_too(tmp_path: Path) -> None:
    index = Index.build(BOOKS, tmp_path / "index")
    book = index.document("a")
    assert (
        book.metadata == index.metadata("a") == {"year": 1970, "lang": "en", "tags": ["x", "y"], "size": {"pages": 7}}
    )
    assert book.metadata["year"] == 1970
    assert index.document("a", metadata=False).metadata == {}
    again = Index.build(index, tmp_path / "again")
    assert again.digest == index.digest
    index.add([replace(book, text="cats")], replace=True)
    assert index.document("a").metadata == book.metadata
    index.merge()
    assert [dict(one.metadata) for one in index] == [index.metadata(one.doc_id) for one in index]
    assert again.document("c").metadata == {}


def test_a_damaged_file_is_found(tmp_path: Path) -> None:
    index = Index.build(BOOKS, tmp_path / "index")
    path = next(index.path.rglob(metadata.NAME))
    path.write_bytes(bytes(path.stat().st_size))
    with pytest.raises(IntegrityError, match="checksum differs"):
        verify_index(tmp_path / "index")
    with pytest.raises(IntegrityError, match=r"damaged|another file"):
        Index(tmp_path / "index")


def test_an_open_index_reads_its_metadata_after_the_index_was_replaced(tmp_path: Path) -> None:
    index = Index.build(BOOKS, tmp_path / "index")
    Index.build([("a", "dogs")], tmp_path / "index")
    assert index.metadata("a")["year"] == 1970
    assert Index(tmp_path / "index").metadata("a") == {}


def test_merged_metadata_have_the_bytes_of_a_new_build(tmp_path: Path) -> None:
    documents = with_metadata(60)
    built = build_index(located(documents), tmp_path / "built")
    index = Index.build(documents[:20], tmp_path / "changed").add(documents[20:45]).add(documents[45:])
    extra = [Document("extra", "", "dogs", metadata={"year": 1, "other": [1, "é"]})]
    changed = index.add(extra).delete(["extra"]).merge()
    files = [next(index.path.rglob(metadata.NAME)).read_bytes() for index in (built, changed)]
    assert files[0] == files[1]
    assert changed.digest == built.digest


def test_times_with_offsets_compare_as_times() -> None:
    hours = {"a": (2, 0.5), "b": (0, -1), "c": (-5, -4)}  # offset, hours after midnight of this offset
    documents = []
    for doc_id, (offset, hour) in hours.items():
        zone = datetime.timezone(datetime.timedelta(hours=offset))
        time = datetime.datetime(2020, 1, 2, tzinfo=zone) + datetime.timedelta(hours=hour)
        documents.append({"doc_id": doc_id, "text": "honey", "time": time})
    index = Index.build(documents)
    assert [index.metadata(doc_id)["time"][:16] for doc_id in "abc"] == [
        "2020-01-01T22:30",
        "2020-01-01T23:00",
        "2020-01-02T01:00",
    ]
    found = longrank.retrieve(index, ["honey"], filter={"time": {"$gte": "2020-01-02T00:00:00+00:00"}})
    assert [row.doc_id for row in found["1"]] == ["c"]


def test_times_at_the_ends_of_the_calendar_keep_their_offset() -> None:
    zone = datetime.timezone(datetime.timedelta(hours=5))
    index = Index.build([{"doc_id": "a", "text": "honey", "time": datetime.datetime(1, 1, 1, tzinfo=zone)}])
    assert index.metadata("a") == {"time": "0001-01-01T00:00:00+05:00"}
