"""The numbered malformed cases of topics, qrels, runs and gzip files, on the commands that read them.

Refused means: exit code 2, one line on stderr that names the file (and line), nothing on stdout, and
the output path as it was.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from longrank.cli.main import main
from malformed import ARCHIVES, PACKED, QRELS, RANKED, RUNS, TOPICS, Case, by_id

JUDGED = "1 0 d1 1\n2 0 d2 1\n"
DOGS_AND_CATS = [{"doc_id": "d1", "text": "dogs bark loud"}, {"doc_id": "d2", "text": "cats sleep long"}]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("malformed")
    (folder / "docs.jsonl").write_text("".join(json.dumps(document) + "\n" for document in DOGS_AND_CATS))
    assert main(["index", str(folder / "docs.jsonl"), "-o", str(folder / "index")]) == 0
    return folder / "index"


def put(case: Case, folder: Path) -> Path:
    path = folder / case.file_name
    if case.content is not None:
        path.write_bytes(case.content)
    return path


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {p.name: (p.stat().st_mtime_ns, p.read_bytes()) for p in folder.iterdir() if p.is_file()}


def check_refused(
    arguments: list[str], place: str, says: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = snapshot(folder)
    capsys.readouterr()
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert err.startswith(f"longrank: error: {place}")
    assert says in err
    assert err.count("\n") == 1
    assert out == ""
    assert snapshot(folder) == before  # also: no *.tmp


def check_accepted(arguments: list[str], says: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(arguments) == 0
    assert says in capsys.readouterr().err
    assert not list(folder.glob(".*")) + list(folder.glob("*.tmp"))


def check(case: Case, arguments: list[str], path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if case.outcome == "E":
        place = f"{path}:{case.line}: " if case.line else f"{path}: "
        check_refused(arguments, place, case.says, path.parent, capsys)
    else:
        check_accepted([*arguments, *([case.option] if case.option else [])], case.says, path.parent, capsys)


@pytest.mark.parametrize("existing", [False, True], ids=["new-output", "existing-output"])
@pytest.mark.parametrize("case", TOPICS, ids=by_id)
def test_topics(case: Case, existing: bool, index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = put(case, tmp_path)
    output = tmp_path / "out.run"
    if existing:
        output.write_bytes(b"1 Q0 d 1 2.5 older\n")
    check(case, ["retrieve", str(index), str(path), "-o", str(output)], path, capsys)
    assert output.exists() == (existing or case.outcome != "E")


@pytest.mark.parametrize("case", QRELS, ids=by_id)
def test_qrels(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = put(case, tmp_path)
    (tmp_path / "good.run").write_text(RANKED)
    check(case, ["evaluate", str(path), str(tmp_path / "good.run")], path, capsys)


@pytest.mark.parametrize("case", RUNS + PACKED + ARCHIVES, ids=by_id)
def test_runs(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = put(case, tmp_path)
    (tmp_path / "good.qrels").write_text(JUDGED)
    check(case, ["evaluate", str(tmp_path / "good.qrels"), str(path)], path, capsys)


@pytest.mark.parametrize("case", [case for case in RUNS if case.outcome == "E"], ids=by_id)
def test_runs_to_rerank(case: Case, index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = put(case, tmp_path)
    (tmp_path / "queries.tsv").write_text("1\tdogs\n2\tcats\n")
    inputs = [str(index), str(tmp_path / "queries.tsv"), str(path)]
    check(case, ["rerank", *inputs, "-o", str(tmp_path / "out.run"), "--pipeline", "lexical"], path, capsys)


def test_case_3_a_folder_is_refused(index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "queries"
    folder.mkdir()
    arguments = ["retrieve", str(index), str(folder), "-o", str(tmp_path / "out.run")]
    check_refused(arguments, f"{folder}: is a folder", "", tmp_path, capsys)


def test_case_12_a_query_of_stop_words_finds_nothing_and_is_counted(
    index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "queries.tsv").write_text("1\tdogs\n2\tto the of\n")
    arguments = ["retrieve", str(index), str(tmp_path / "queries.tsv"), "-o", str(tmp_path / "out.run")]
    check_accepted(arguments, "queries without results: 1 (first: 2)", tmp_path, capsys)
    assert (tmp_path / "out.run").read_text().startswith("1 Q0 d1 1 ")


def test_case_22_no_query_in_common_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.run").write_text(RANKED)
    (tmp_path / "other.qrels").write_text("77 0 d1 1\n")
    arguments = ["evaluate", str(tmp_path / "other.qrels"), str(tmp_path / "good.run")]
    check_refused(arguments, f"{tmp_path / 'good.run'}: ", "has no query in common", tmp_path, capsys)


def test_case_39_documents_that_are_not_in_the_index_are_refused_and_named(
    index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "queries.tsv").write_text("1\tdogs\n2\tcats\n")
    rows = [f"1 Q0 x{i} {i} {20 - i} tag\n" for i in range(1, 9)]
    (tmp_path / "x.run").write_text(RANKED + "".join(rows).replace("1 Q0", "2 Q0"))
    inputs = [str(index), str(tmp_path / "queries.tsv"), str(tmp_path / "x.run")]
    arguments = ["rerank", *inputs, "-o", str(tmp_path / "out.run"), "--pipeline", "lexical"]
    says = f"documents of the run that are not in the index: 8 ({', '.join(f'x{i}' for i in range(1, 6))})"
    check_refused(arguments, f"{tmp_path / 'x.run'}: ", says, tmp_path, capsys)
