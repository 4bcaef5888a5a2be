"""The numbered malformed cases of documents, on ``longrank index``.

Refused means: exit code 2, one line on stderr that names the file (and line), nothing on stdout, the
index as it was (or still absent), and no leftovers.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from longrank.cli.main import main
from longrank.index import Index
from malformed_documents import CASES, HTML, Case, by_id


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below a folder with its time and bytes; a lock holds nothing but who held it last."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def index(source: Path, output: Path, *options: str) -> int:
    return main(["index", str(source), "-o", str(output), "--workers", "1", *options])


def refused(source: Path, folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """Check that an index of `source` is refused and leaves everything as it was; return the one line."""
    before = tree(folder)
    capsys.readouterr()
    assert index(source, folder / "new.index", *options) == 2
    out, err = capsys.readouterr()
    assert out == ""
    *others, error = err.splitlines()
    assert all(other.startswith("longrank: building takes up to ") for other in others)  # said before anything is read
    assert error.startswith("longrank: error: ")
    assert len(error) < 600
    assert tree(folder) == before
    return error.removeprefix("longrank: error: ")


@pytest.mark.parametrize("case", CASES, ids=by_id)
def test_documents(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if case in HTML:
        pytest.importorskip("resiliparse", reason="needs the extra html")
    path = tmp_path / case.name
    path.write_bytes(case.content)
    if case.outcome == "E":
        error = refused(path, tmp_path, capsys, *case.options)
        assert error.startswith(f"{path}:{case.line}: " if case.line else f"{path}: ")
        assert case.says in error
        assert not (tmp_path / "new.index").exists()
    else:
        assert index(path, tmp_path / "new.index", *case.options) == 0
        assert case.says in capsys.readouterr().err
        assert Index.open(tmp_path / "new.index").document(doc_id(case)).text == case.text


def doc_id(case: Case) -> str:
    return case.name if case.name.endswith(".html") else "1"


def test_an_existing_index_is_untouched_by_a_refused_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.tsv").write_text("1\tdogs\n")
    (tmp_path / "bad.tsv").write_text("1\tdogs\n2\n")
    assert index(tmp_path / "good.tsv", tmp_path / "new.index") == 0
    assert ":2: 1 column " in refused(tmp_path / "bad.tsv", tmp_path, capsys)


def test_case_45_the_number_7_and_the_string_7_clash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_text('{"id": 7, "text": "dogs"}\n{"id": "7", "text": "cats"}\n')
    error = refused(path, tmp_path, capsys)
    assert error.startswith(f"{path}:2: ")
    assert f"{path}:1" in error
    assert "'7'" in error


def test_case_47_an_id_that_occurs_twice_is_refused_with_both_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, other = tmp_path / "docs.jsonl", tmp_path / "other.tsv"
    path.write_text('{"id": "a", "text": "dogs"}\n\n{"id": "b", "text": "cats"}\n{"id": "a", "text": "dogs"}\n')
    error = refused(path, tmp_path, capsys)
    assert error.startswith(f"{path}:4: ")
    assert f"{path}:1" in error
    path.write_text('{"id": "a", "text": "dogs"}\n')
    other.write_text("b\tcats\na\tcows\n")
    error = refused(path, tmp_path, capsys, str(other))
    assert error.startswith(f"{other}:2: ")
    assert f"{path}:1" in error


def test_a_missing_source_and_an_unknown_format_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no such file" in refused(tmp_path / "no.jsonl", tmp_path, capsys)
    assert "no such file" in refused(tmp_path / "no", tmp_path, capsys)
    assert "did you mean 'trectext'?" in refused(tmp_path, tmp_path, capsys, "--format", "trectxt")


def test_a_misspelt_field_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "docs.jsonl").write_text('{"id": "a", "text": "dogs"}\n')
    source = tmp_path / "docs.jsonl"
    assert "no document has this field (got 'keyword')" in refused(source, tmp_path, capsys, "--fields", "text,keyword")
    assert ":1: no text; a field raw is needed" in refused(source, tmp_path, capsys, "--fields", "title,raw")


def test_a_folder_with_a_list_of_checksums_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("dogs")
    listed = {"files": {"a.txt": {"size": 4, "sha256": "0" * 64}}}
    (tmp_path / "data" / "manifest.json").write_text(json.dumps(listed))
    assert index(tmp_path / "data", tmp_path / "new.index", "--include", "*.txt") == 0
    assert "documents\t1\n" in capsys.readouterr().out


def test_an_index_may_lie_in_the_folder_it_is_made_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("dogs")
    assert index(tmp_path, tmp_path / "new.index") == 0
    capsys.readouterr()
    assert index(tmp_path, tmp_path / "new.index") == 0
    out, err = capsys.readouterr()
    assert "documents\t1\n" in out
    assert "folders written by longrank skipped: 1" in err
