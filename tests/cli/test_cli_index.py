"""``longrank index``, ``check`` and ``retrieve`` from the outside: exit codes, files, what is printed where."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from longrank.cli import console
from longrank.cli.main import main
from longrank.index import Index

DOCUMENTS = [
    {"doc_id": "d1", "title": "Fruit", "text": "apple banana apple", "raw": "pear"},
    {"doc_id": "d2", "title": "Sweets", "text": "banana cherry cherry", "raw": "plum"},
    {"doc_id": "d3", "title": "", "text": "banana bananas", "raw": "plums"},
]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    path = tmp_path / "docs.jsonl"
    path.write_text("".join(json.dumps(d) + "\n" for d in DOCUMENTS))
    return path


@pytest.fixture
def index(tmp_path: Path, docs: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["index", str(docs), "-o", str(tmp_path / "index")]) == 0
    capsys.readouterr()
    return tmp_path / "index"


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    path = tmp_path / "queries.tsv"
    path.write_text("q1\tbanana apples\nq2\tthe of\nq3\tcherry\n")
    return path


def rows(run: Path) -> list[list[str]]:
    return [line.split() for line in run.read_text().splitlines()]


def test_a_packed_file_of_blank_lines_is_refused_unless_the_ratio_is_raised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "docs.jsonl.gz"
    path.write_bytes(gzip.compress((b" " * 1023 + b"\n") * (17 << 10) + json.dumps(DOCUMENTS[0]).encode() + b"\n", 9))
    assert main(["index", str(path), "-o", str(tmp_path / "index")]) == 2
    assert "more than 200 times its size; if you trust it, unpack it first" in capsys.readouterr().err
    assert not (tmp_path / "index").exists()
    assert main(["index", str(path), "-o", str(tmp_path / "index"), "--max-ratio", "2000"]) == 0


def test_progress_counts_the_bytes_read_while_no_document_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console, "_PLAIN_SECONDS", 0.0)
    path = tmp_path / "docs.jsonl"
    path.write_bytes((b" " * 63 + b"\n") * (3 << 14) + json.dumps(DOCUMENTS[0]).encode() + b"\n")
    assert main(["index", str(path), "-o", str(tmp_path / "index")]) == 0
    assert "longrank: indexing: 0 documents, 3 MiB read" in capsys.readouterr().err.splitlines()


def test_index_prints_a_summary_on_stdout(docs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", str(docs), "-o", str(tmp_path / "index")]) == 0
    out, err = capsys.readouterr()
    summary = dict(line.split("\t") for line in out.splitlines())
    assert summary["documents"] == "3"
    assert summary["unique terms"] == "5"  # appl banana cherri fruit sweet
    assert summary["terms"] == "10"
    assert int(summary["bytes"]) == sum(p.stat().st_size for p in (tmp_path / "index").rglob("*") if p.is_file())
    assert summary["digest"] == Index.open(tmp_path / "index").digest
    assert err == ""


def test_fields_choose_what_is_indexed(docs: Path, tmp_path: Path) -> None:
    assert main(["index", str(docs), "-o", str(tmp_path / "index"), "--fields", "raw", "--analyzer", "none"]) == 0
    index = Index.open(tmp_path / "index")
    assert list(index.terms()) == ["pear", "plum", "plums"]
    assert (index.document("d1").title, index.document("d1").text) == ("Fruit", "pear")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["index", "docs.jsonl"], "-o is needed"),
        (["index", "docs.jsonl", "-o", "index", "--analyzer", "portre"], "unknown analyzer"),
        (["index", "docs.jsonl", "-o", "index", "--encoding-errors", "skip"], "--encoding-errors takes"),
        (["index", "docs.jsonl", "-o", "index", "--workers", "0"], "--workers"),
        (["index", "docs.jsonl", "-o", "index", "--fields", "text,body"], "no document has this field"),
        (["index", "docs.jsonl", "-o", "index", "--exclude", "*"], "--include and --exclude choose among the files of"),
        (["index", "docs.jsonl", "-o", "no/where"], "its folder does not exist"),
        (["index", "docs.jsonl", "-o", "docs.jsonl"], "is a file"),
        (["index", "docs.jsonl", "-o", "."], "exists and is not an index"),
        (["index", "--vectors", "minilm", "docs.jsonl"], "no such index"),
        (["index", "--vectors-dtype", "int8", "my.index"], "--vectors-dtype needs --vectors; add --vectors minilm"),
        (["index", "docs.jsonl", "-o", "index", "--passages", "windows"], "--passages is the preset of stored vectors"),
        (["sync", ".", "-o", "index", "--passages", "windows"], "--passages is the preset of stored vectors"),
        (["check", "nowhere"], "nowhere: no such folder"),
        (["check", "."], "holds no manifest: not written by longrank"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(
    docs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(docs.parent)
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert message in err
    assert [path.name for path in docs.parent.iterdir()] == ["docs.jsonl"]


def test_a_wrong_vectors_model_is_noticed_before_the_build(docs: Path, tmp_path: Path) -> None:
    assert main(["index", str(docs), "-o", str(tmp_path / "new"), "--vectors", str(tmp_path / "no-model")]) == 2
    assert not (tmp_path / "new").exists()


def test_a_disk_too_small_is_noticed_before_anything_is_read(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usage = namedtuple("usage", "total used free")(10, 9, 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    assert main(["index", str(docs), "-o", str(tmp_path / "index")]) == 2
    assert "0 KiB are free; free disk space" in capsys.readouterr().err
    assert not (tmp_path / "index").exists()


def test_check_says_that_all_is_well(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(index)]) == 0
    assert "22 files, all as written" in capsys.readouterr().out


def test_check_names_the_damaged_file_with_exit_code_3(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = next(index.glob("data-*/codes"))
    raw = bytearray(file.read_bytes())
    raw[0] ^= 1
    file.write_bytes(raw)
    assert main(["check", str(index)]) == 3
    assert capsys.readouterr().err == f"longrank: error: {file}: checksum differs; the file is damaged\n"


def test_retrieve_writes_a_run_and_counts_what_found_nothing(
    index: Path, queries: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "out.run"
    assert main(["retrieve", str(index), str(queries), "-o", str(run), "--tag", "mine"]) == 0
    found = rows(run)
    assert [(r[0], r[2], r[3], r[5]) for r in found] == [
        ("q1", "d1", "1", "mine"), ("q1", "d3", "2", "mine"), ("q1", "d2", "3", "mine"), ("q3", "d2", "1", "mine"),
    ]  # fmt: skip
    out, err = capsys.readouterr()
    assert out == ""
    assert "queries without terms after analysis: 1 (first: q2)" in err
    assert "queries without results: 1 (first: q2)" in err


def test_retrieve_takes_k_and_parameters(index: Path, queries: Path, tmp_path: Path) -> None:
    def run(*options: str) -> list[list[str]]:
        assert main(["retrieve", str(index), str(queries), "-o", str(tmp_path / "run"), *options]) == 0
        return rows(tmp_path / "run")

    assert [r[2] for r in run("-k", "1")] == ["d1", "d2"]
    preset = run("--preset", "bm25-lucene")
    assert preset == run("--k1", "1.2", "--b", "0.75") != run()
    assert run("--preset", "bm25-lucene", "--k1", "0.9", "--b", "0.4") == run()
    assert run("--doc-lengths", "exact") == run()  # below 40 terms lengths are exact anyway


@pytest.mark.parametrize(
    "option", ["--k1=-1", "--b=1.5", "-k=0", "--preset=bm52", "--doc-lengths=rough", "--tag=two words", "--k1=nan"]
)
def test_parameters_out_of_range_are_exit_code_2_and_write_nothing(
    index: Path, queries: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    assert main(["retrieve", str(index), str(queries), "-o", str(tmp_path / "run"), *option.split("=", 1)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_retrieving_from_no_index_is_exit_code_2(queries: Path, tmp_path: Path) -> None:
    assert main(["retrieve", str(tmp_path), str(queries), "-o", str(tmp_path / "run")]) == 2


def test_the_bytes_do_not_depend_on_the_environment(docs: Path, queries: Path, tmp_path: Path) -> None:
    os.utime(docs, (1, 1))  # of a file of the last seconds an index keeps no time
    index = tmp_path / "index"
    assert main(["index", str(docs), "-o", str(index)]) == 0
    folder = tmp_path / "elsewhere with spaces é"
    folder.mkdir()
    environment = {**os.environ, "LC_ALL": "C", "TZ": "Asia/Tokyo", "PYTHONHASHSEED": "7"}
    longrank = [sys.executable, "-m", "longrank.cli.main"]
    for arguments in (["index", str(docs), "-o", "index"], ["retrieve", "index", str(queries), "-o", "run"]):
        subprocess.run([*longrank, *arguments], cwd=folder, env=environment, check=True, capture_output=True)
    for file in (path for path in index.rglob("*") if path.is_file()):
        assert (folder / "index" / file.relative_to(index)).read_bytes() == file.read_bytes()
    assert main(["retrieve", str(index), str(queries), "-o", str(tmp_path / "run")]) == 0
    assert (folder / "run").read_bytes() == (tmp_path / "run").read_bytes()


def test_a_report_names_every_skipped_file_and_strict_refuses_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "a.txt").write_text("cats")
    (folder / "b.eml").write_bytes(b"no header")
    (folder / "c.jpg").write_bytes(b"\xff\xd8")
    command = ["index", str(folder), "-o", str(tmp_path / "new"), "--report", str(tmp_path / "skipped.tsv")]
    assert main(command) == 0
    rows = [row.split("\t") for row in (tmp_path / "skipped.tsv").read_text().splitlines()]
    assert rows == [
        [str(folder / "b.eml"), "is no mail message: it has no header"],
        [str(folder / "c.jpg"), "files of unknown format skipped"],
    ]
    assert "files that cannot be read skipped: 1" in capsys.readouterr().err
    for name, text in (("note.txt", "dogs"), ("rows.tsv", "d1\tdogs\n")):
        (tmp_path / name).write_text(text)
        (folder / name).symlink_to(tmp_path / name)
        assert main([*command[:-1], str(tmp_path / name)]) == 2
        assert f"{name}: is also an input and would be overwritten" in capsys.readouterr().err
        assert (tmp_path / name).read_text() == text
        (folder / name).unlink()
    assert main([*command, "--strict"]) == 2
    assert "b.eml: is no mail message" in capsys.readouterr().err
    (tmp_path / "queries.jsonl").write_text('{"doc_id": "a.txt", "queries": ["cats"]}\n')
    assert main([*command[:-1], str(tmp_path / "queries.jsonl"), "--expansions", str(tmp_path / "queries.jsonl")]) == 2
    assert "queries.jsonl: is also an input and would be overwritten" in capsys.readouterr().err
    assert main([*command, "--strict", "--exclude", "*.eml"]) == 0
