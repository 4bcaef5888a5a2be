"""``longrank index --expansions`` from the outside: what is found, what is shown, what is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from longrank.cli.main import main
from longrank.index import Index

DOCUMENTS = [
    {"doc_id": "d1", "title": "Fruit", "text": "Apples grow on trees."},
    {"doc_id": "d2", "title": "Sweets", "text": "Cherries are red."},
]
EXPANSIONS = [
    {"id": "d2#0", "predicted_queries": ["where do cherries come from", "turkish orchards"]},
    {"id": "d1", "predicted_queries": ["what is an apple"]},
    {"id": "d9", "predicted_queries": ["nothing here"]},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("docs.jsonl").write_text("".join(json.dumps(d) + "\n" for d in DOCUMENTS))
    Path("d2q.jsonl").write_text("".join(json.dumps(d) + "\n" for d in EXPANSIONS))
    Path("more.jsonl.gz").write_bytes(gzip.compress(b'{"doc_id": "d1", "queries": ["apple tree"]}\n'))
    return tmp_path


def test_documents_are_found_by_what_was_predicted_and_shown_as_they_are(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["index", "docs.jsonl", "-o", "index", "--expansions", "d2q.jsonl"]) == 0
    capsys.readouterr()
    assert main(["search", "index", "turkish orchards", "--pipeline", "lexical", "--json"]) == 0
    shown = capsys.readouterr().out
    assert "d2" in shown and "Cherries are red." in shown
    assert "turkish" not in shown.replace('"turkish orchards"', "").lower()
    assert main(["search", "index", "turkish orchards", "--pipeline", "lexical"]) == 0
    assert "orchards" not in capsys.readouterr().out
    assert [(d.title, d.text) for d in Index.open("index")] == [(d["title"], d["text"]) for d in DOCUMENTS]


def test_several_files_are_united_and_everything_is_accounted_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--expansions", "d2q.jsonl", "--expansions", "more.jsonl.gz"]
    assert main(["index", "docs.jsonl", "-o", "index", *files]) == 0
    out, err = capsys.readouterr()
    assert Index.open("index").count("appl") == 3  # the text, and a query of each file
    told = [line.split(", sha256 ")[0] for line in out.splitlines() if line.startswith("expansions\t")]
    assert told == ["expansions\t2 of 3 lines used in the build", "expansions\t1 of 1 lines used in the build"]
    assert "whose document is not in the collection: 1 (first: d2q.jsonl:3)" in err
    assert "of passages ID#NUMBER, added to the document ID: 1 (first: d2q.jsonl:1)" in err
    assert main(["check", "index"]) == 0
    assert capsys.readouterr().out.count("\nexpansions\t") == 2


def test_packed_or_not_and_any_number_of_processes_give_the_same_bytes(folder: Path) -> None:
    Path("packed.jsonl.gz").write_bytes(gzip.compress(Path("d2q.jsonl").read_bytes()))
    assert main(["index", "docs.jsonl", "-o", "one", "--expansions", "d2q.jsonl", "--workers", "1"]) == 0
    assert main(["index", "docs.jsonl", "-o", "two", "--expansions", "packed.jsonl.gz", "--workers", "3"]) == 0
    for file in (path for path in Path("one").rglob("*") if path.is_file()):
        assert (Path("two") / file.relative_to("one")).read_bytes() == file.read_bytes()


def test_original_copies_raise_the_weight_of_the_text(folder: Path) -> None:
    assert main(["index", "docs.jsonl", "-o", "index", "--expansions", "d2q.jsonl", "--original-copies", "2"]) == 0
    index = Index.open("index")
    assert (index.count("appl"), index.count("tree"), index.count("orchard")) == (3, 2, 1)
    assert index.document("d1").text == DOCUMENTS[0]["text"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--expansions", "gone.jsonl"], "gone.jsonl: no such file"),
        (["--expansions", "docs.jsonl"], "docs.jsonl:1: no queries; a line is:"),
        (["--expansions", "d2q.jsonl", "--expansions", "./d2q.jsonl"], "d2q.jsonl: is given twice"),
        (["--expansions", "other.jsonl"], "other.jsonl: none of its ids is in the collection (got 'd9')"),
        (["--expansions", "cut.jsonl"], "cut.jsonl:1: is not JSON"),
        (["--expansions", "."], "is a folder"),
        (["--original-copies", "2"], "--original-copies is out of range"),
        (["--expansions", "d2q.jsonl", "--original-copies", "0"], "--original-copies"),
        (["--expansions", "more.jsonl.gz", "--max-uncompressed", "9"], "unpacks to more than 9 bytes"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], says: str
) -> None:
    Path("other.jsonl").write_text('{"id": "d9", "queries": ["x"]}\n')
    Path("cut.jsonl").write_text('{"id": "d1", "queries": ["x')
    assert main(["index", "docs.jsonl", "-o", "index", *options]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert says in err
    assert not Path("index").exists()


def test_a_mistake_leaves_the_index_that_is_there(folder: Path) -> None:
    assert main(["index", "docs.jsonl", "-o", "index"]) == 0
    before = {path: path.read_bytes() for path in Path("index").rglob("*") if path.is_file()}
    Path("other.jsonl").write_text('{"id": "d9", "queries": ["x"]}\n')
    assert main(["index", "docs.jsonl", "-o", "index", "--expansions", "other.jsonl"]) == 2
    assert {path: path.read_bytes() for path in Path("index").rglob("*") if path.is_file()} == before


def test_an_index_that_exists_takes_no_expansions(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", "docs.jsonl", "-o", "index"]) == 0
    assert main(["index", "index", "--vectors", "minilm", "--expansions", "d2q.jsonl"]) == 2
    assert "--expansions is for a new index" in capsys.readouterr().err
