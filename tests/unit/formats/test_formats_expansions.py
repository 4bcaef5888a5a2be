"""Files of predicted queries are read strictly, in the shapes in which they are published."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from longrank.errors import InputError
from longrank.formats.expansions import Expansion, position, read_expansions
from longrank.formats.lines import TextOptions
from longrank.formats.opening import Limits
from longrank.types import Notes


def read(path: Path, content: str, notes: Notes | None = None) -> list[Expansion]:
    path.write_text(content)
    return list(read_expansions([path], Notes() if notes is None else notes))


@pytest.mark.parametrize(
    "line",
    [
        '{"doc_id": "7", "queries": ["why dogs", "dogs"]}',
        '{"id": "7", "predicted_queries": ["why dogs", "dogs"]}',  # docTTTTTquery's releases
        '{"_id": 7, "queries": ["why dogs", "dogs"], "model": "t5", "scores": [1, 2]}',
        '{"docno": "7", "predicted_queries": ["why dogs", "dogs"]}',
    ],
)
def test_a_line_is_an_id_and_queries(tmp_path: Path, line: str) -> None:
    path = tmp_path / "d2q.jsonl"
    assert read(path, f"\n{line}\n") == [Expansion("7", ["why dogs", "dogs"], str(path), 2)]


def test_files_follow_one_another_packed_or_not(tmp_path: Path) -> None:
    plain, packed = tmp_path / "msmarco.jsonl", tmp_path / "car.jsonl.gz"
    plain.write_text('{"id": "b", "queries": ["x"]}\n{"id": "a", "queries": ["y"]}\n')
    packed.write_bytes(gzip.compress(b'{"id": "a", "queries": ["z"]}\n'))
    found = [(one.doc_id, one.queries, one.path, one.line) for one in read_expansions([plain, packed], Notes())]
    assert found == [("b", ["x"], str(plain), 1), ("a", ["y"], str(plain), 2), ("a", ["z"], str(packed), 1)]


def test_lines_without_a_query_and_empty_queries_are_counted(tmp_path: Path) -> None:
    notes, path = Notes(), tmp_path / "d2q.jsonl"
    read(path, '{"id": "a", "queries": []}\n{"id": "b", "queries": ["", " ", "x"]}\n', notes)
    assert notes.lines() == [
        f"expansion lines without a query: 1 (first: {path}:1)",
        f"predicted queries that are empty: 2 (first: {path}:2)",
    ]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"queries": ["x"]}', "no id; one of doc_id, id, _id, docno is needed"),
        ('{"id": "two words", "queries": ["x"]}', "'id' holds white space"),
        ('{"id": "a", "text": "x"}', 'no queries; a line is: {"doc_id": "...", "queries": ["...", ...]}'),
        ('{"id": "a", "queries": ["x"], "predicted_queries": ["y"]}', "both 'queries' and 'predicted_queries'"),
        ('{"id": "a", "queries": "x y"}', "'queries' is not a list of strings (got 'x y')"),
        ('{"id": "a", "predicted_queries": null}', "'predicted_queries' is not a list of strings"),
        ('{"id": "a", "queries": ["x", 7]}', "a predicted query is not a string (got 7)"),
        ('{"id": "a", "queries": ["x", null]}', "a predicted query is not a string"),
        ('{"id": "a", "queries": ["x"], "id": "b"}', "key occurs twice in an object (got 'id')"),
        ('["a", ["x"]]', "looks like JSON, not JSONL"),
        ('{"id": "a", "queries": ["x"', "is not JSON"),
        ("a\tx", "is not JSON"),
    ],
)
def test_what_cannot_be_right_is_refused_with_its_line(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "d2q.jsonl"
    with pytest.raises(InputError) as caught:
        read(path, '{"id": "0", "queries": ["fine"]}\n' + line + "\n")
    assert str(caught.value).startswith(f"{path}:2: ")
    assert says in str(caught.value)


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_a_file_without_a_line_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError, match="holds no expansion"):
        read(tmp_path / "d2q.jsonl", content)


def test_a_missing_file_is_noticed_before_the_first_is_read(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("not read")
    with pytest.raises(InputError, match=r"gone.jsonl: no such file"):
        next(read_expansions([tmp_path / "bad.jsonl", tmp_path / "gone.jsonl"], Notes()))


def test_a_file_given_twice_would_count_double_and_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d2q.jsonl").write_text('{"id": "a", "queries": ["x"]}\n')
    (tmp_path / "link.jsonl").symlink_to("d2q.jsonl")
    with pytest.raises(InputError, match=r"link.jsonl: is given twice"):
        next(read_expansions([tmp_path / "d2q.jsonl", tmp_path / "link.jsonl"], Notes()))


def test_the_limits_hold(tmp_path: Path) -> None:
    path = tmp_path / "d2q.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"id": "a", "queries": ["x"]}\n'))
    with pytest.raises(InputError, match="unpacks to more than 9 bytes"):
        list(read_expansions([path], Notes(), TextOptions(limits=Limits(max_uncompressed=9))))


@pytest.mark.parametrize("name", ["pred-test_topk10.txt", "predicted_queries_topk.txt-1004000", "pred.txt.gz"])
def test_the_text_files_of_published_releases_have_a_line_per_document(tmp_path: Path, name: str) -> None:
    path, notes, content = tmp_path / name, Notes(), b"why dogs bark dogs bark\n\n what is {a} cat\n"
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    found = [(each.doc_id, each.queries, each.line) for each in read_expansions([path], notes)]
    texts = [["why dogs bark dogs bark"], [], ["what is {a} cat"]]
    assert found == [(position(n), queries, n + 1) for n, queries in enumerate(texts)]
    assert notes["expansion lines without a query"] == 1


def test_a_text_file_that_holds_json_is_read_as_json(tmp_path: Path) -> None:
    path = tmp_path / "d2q.txt"
    assert read(path, '{"id": "7", "queries": ["x"]}\n') == [Expansion("7", ["x"], str(path), 1)]
