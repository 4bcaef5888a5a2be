"""No command writes into a finished folder of another command: an index, a model, a result."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from evidences import evidence, write_evidence
from longrank.cli.main import main
from longrank.errors import InputError
from longrank.index import Index
from longrank.ranking.pipeline import open_pipeline
from longrank.storage import seal
from longrank.storage.workplace import check_outside
from longrank.verbs.compare import compare
from longrank.verbs.expand import expand

FINISHED = ("my.index", "model", "checkpoint", "tuned")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with inputs and with finished folders."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs.jsonl").write_text(json.dumps({"doc_id": "d1", "text": "Dogs bark."}) + "\n")
    (tmp_path / "queries.jsonl").write_text('{"query_id": "q1", "text": "dogs"}\n')
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 2.0 t\n")
    write_evidence(tmp_path / "e", [[evidence("d1", [1.0], query_id="q1")]])
    Index.build([("d1", "Dogs bark.")], tmp_path / "my.index")
    for name, kind in (("model", "model"), ("tuned", "result")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
        seal(tmp_path / name, kind)
    (tmp_path / "checkpoint").mkdir()
    for name in ("config.json", "model.safetensors"):
        (tmp_path / "checkpoint" / name).touch()
    return tmp_path


def files(place: Path) -> set[Path]:
    return set(place.rglob("*"))


@pytest.mark.parametrize("folder", FINISHED)
@pytest.mark.parametrize(
    "command",
    [
        "index docs.jsonl -o {}",
        "sync docs.jsonl -o {}",
        "retrieve my.index queries.jsonl -o {}",
        "retrieve my.index queries.jsonl -o b.run --expanded-queries {}",
        "rerank my.index queries.jsonl a.run -o {} --pipeline lexical",
        "rerank my.index queries.jsonl a.run -o b.run --pipeline lexical --evidence {}",
        "rerank my.index queries.jsonl a.run -o b.run --pipeline lexical --score-cache {}",
        "aggregate e -o {} --aggregator maxp",
        "fuse a.run a.run -o {} --method rrf",
        "tune my.index queries.jsonl qrels.txt -o {} --grid b=0:1:0.5",
        "weigh qrels.txt a.run e -o {}",
        "demo --folder {}",
    ],
)
def test_an_output_inside_a_finished_folder_is_refused_in_one_line(
    place: Path, capsys: pytest.CaptureFixture[str], folder: str, command: str
) -> None:
    before = files(place)
    output = f"{folder}/new"
    assert main(command.format(output).split()) == 2
    said = capsys.readouterr().err
    finished = f"{place / folder}, a finished folder of an index, a model or a result; choose an output outside it"
    reasons = (finished, *(["an input; choose another output"] if folder in command.split()[1] else []))
    assert said.startswith("longrank: error: ")
    assert said.removeprefix("longrank: error: ") in {f"{output}: lies inside {reason}\n" for reason in reasons}
    assert said.count("\n") == 1
    assert files(place) == before


def test_outputs_deeper_inside_and_through_links_are_refused(place: Path) -> None:
    (place / "my.index" / "mine" / "deep").mkdir(parents=True)
    (place / "link").symlink_to(place / "my.index" / "mine")
    for output in ("my.index/mine/deep/a.run", "link/a.run", place / "link" / "deep" / "new" / "a.run"):
        with pytest.raises(InputError, match=r"lies inside .*my\.index, a finished folder"):
            check_outside(output)
    check_outside(place / "my.index")
    check_outside("my.index/own.png", "my.index")


def test_folders_with_other_manifests_are_no_finished_folders(place: Path) -> None:
    for name, content in {"site": '{"name": "App", "files": {}}', "broken": "{", "list": "[]"}.items():
        (place / name).mkdir()
        (place / name / "manifest.json").write_text(content)
        check_outside(place / name / "a.run")
    (place / "settings").mkdir()
    (place / "settings" / "config.json").write_text("{}")
    check_outside(place / "settings" / "a.run")


def test_commands_of_a_recipe_write_again_into_its_finished_folder(place: Path) -> None:
    (place / "table").mkdir()
    (place / "table" / "results.json").touch()
    seal(place / "table", "reproduction")
    check_outside(place / "table" / "first.run")


def test_a_result_is_replaced_in_its_own_folder_and_plots_may_lie_in_it(place: Path) -> None:
    command = ["tune", "my.index", "queries.jsonl", "qrels.txt", "-o", "mine", "--workers", "1", "--grid", "b=0:1:0.5"]
    for _ in range(2):
        assert main(command) == 0
    assert main(["index", "docs.jsonl", "-o", "my.index"]) == 0


@pytest.mark.parametrize("name", ["a\0b", "x" * 300 + "/run"])
def test_a_name_that_no_file_can_have_is_one_line(place: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        check_outside(place / name)


@pytest.fixture
def database(place: Path) -> str:
    """A folder of two files of documents, an index of its pattern, and the same documents in a database."""
    (place / "docs").mkdir()
    rows = [("d1", "Dogs bark."), ("d2", "Cats purr.")]
    for doc_id, text in rows:
        (place / "docs" / f"{doc_id}.jsonl").write_text(json.dumps({"doc_id": doc_id, "text": text}) + "\n")
    assert main(["index", "docs/*.jsonl", "-o", "of-pattern.index"]) == 0
    with closing(sqlite3.connect(place / "docs.db")) as connection, connection:
        connection.execute("create table pages (doc_id text, text text)")
        connection.executemany("insert into pages values (?, ?)", rows)
    return "sqlite:///docs.db?query=SELECT doc_id, text FROM pages"


@pytest.mark.parametrize(
    "command",
    [
        "index PATTERN -o new.index --report docs/d1.jsonl",
        "index DATABASE -o new.index --report docs.db",
        "index --add PATTERN my.index --report docs/d1.jsonl",
        "index --update of-pattern.index --report docs/d2.jsonl",
        "expand PATTERN t5 -o docs/d1.jsonl",
        "expand DATABASE t5 -o docs.db",
        "rows microblog PATTERN --queries queries.jsonl --qrels qrels.txt -o docs/d1.jsonl",
        "rows microblog DATABASE --queries queries.jsonl --qrels qrels.txt -o x.jsonl --dev docs.db",
    ],
)
def test_an_output_that_a_pattern_or_a_database_reads_is_refused(
    place: Path, database: str, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    before = {path: path.read_bytes() for path in files(place) if path.is_file()}
    capsys.readouterr()
    named = {"PATTERN": "docs/*.jsonl", "DATABASE": database}
    assert main([named.get(part, part) for part in command.split()]) == 2
    assert "is also an input and would be overwritten; choose another output" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in files(place) if path.is_file()} == before


def test_a_report_of_a_database_or_of_odd_patterns_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect("x.db")) as database:
        database.execute('CREATE TABLE t ("doc-id" TEXT, body TEXT)')
        database.execute("INSERT INTO t VALUES ('d', 'Dogs bark.')")
        database.commit()
    address = "sqlite:///x.db?query=SELECT [doc-id] AS id, [body] AS text FROM t"
    assert main(["index", address, "-o", "i", "--report", "report.txt"]) == 0
    assert Path("report.txt").read_text() == ""
    assert main(["index", "docs/[z-a]*.txt", "-o", "j", "--report", "report.txt"]) == 2
    assert "no file or folder matches" in capsys.readouterr().err
    Path("docs").mkdir()
    Path("docs/d.txt").write_text("Dogs bark.")
    Path("docs/.logs").mkdir()
    for hidden in ("docs/.r.txt", "docs/.logs/r.txt"):  # no matches of the pattern
        assert main(["index", "docs/**/*.txt", "-o", "k", "--report", hidden]) == 0


@pytest.mark.parametrize(
    ("command", "matched"),
    [
        ("index docs/*.jsonl -o new.index", True),
        ("index **/*.jsonl -o new.index", True),
        ("index docs/d?.jsonl -o new.index", False),
        ("index linked/*.jsonl -o new.index", True),
        ("index --update of-pattern.index", True),
        ("index --add other.jsonl of-pattern.index", True),
        ("index --merge of-pattern.index", True),
        ("index --add other.jsonl of-other.index", False),
    ],
)
def test_no_report_is_written_among_the_files_of_a_pattern(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, matched: bool
) -> None:
    """The next update would read the report as a document."""
    monkeypatch.chdir(tmp_path)
    Path("docs").mkdir()
    Path("docs/d1.jsonl").write_text('{"doc_id": "d1", "text": "Dogs bark."}\n')
    Path("linked").symlink_to("docs")
    Path("other.jsonl").write_text('{"doc_id": "o1", "text": "Cats purr."}\n')
    Path("more.jsonl").write_text('{"doc_id": "m1", "text": "Cows moo."}\n')
    assert main(["index", "docs/*.jsonl", "-o", "of-pattern.index"]) == 0
    assert main(["index", "more.jsonl", "-o", "of-other.index"]) == 0
    report = "docs/report.jsonl"
    assert main([*command.split(), "--report", report]) == (2 if matched else 0)
    assert ("report.jsonl: lies among the files of a pattern" in capsys.readouterr().err) == matched
    assert Path(report).exists() != matched


@pytest.mark.parametrize("command", ["--update", "--add other.jsonl", "--merge", "--delete d1"])
def test_no_report_takes_the_place_of_a_document_of_a_recorded_pattern(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("docs").mkdir()
    for name in ("d1", "d2"):
        Path(f"docs/{name}.jsonl").write_text(json.dumps({"doc_id": name, "text": "Dogs bark."}) + "\n")
    Path("other.jsonl").write_text('{"doc_id": "o1", "text": "Cats purr."}\n')
    assert main(["index", "docs/*.jsonl", "-o", "my.index"]) == 0
    before = Path("docs/d2.jsonl").read_text()
    assert main(["index", *command.split(), "my.index", "--report", "docs/d2.jsonl"]) == 2
    assert Path("docs/d2.jsonl").read_text() == before


def test_a_calibration_is_an_input_of_rerank(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "stop.json").write_text("{}")
    command = "rerank my.index queries.jsonl a.run -o stop.json --pipeline cascade --set stop.calibration=stop.json"
    assert main([*command.split(), "--set", "stop.scorer=lexical"]) == 2
    assert "stop.json: is also an input and would be overwritten" in capsys.readouterr().err


def test_a_score_cache_of_a_search_is_outside_finished_folders(place: Path) -> None:
    with pytest.raises(InputError, match=r"lies inside .*, a finished folder"):
        open_pipeline("my.index", "minilm", model="absent", score_cache=place / "my.index" / "cache")


def test_no_file_of_a_comparison_or_of_predicted_queries_is_inside_a_finished_folder(place: Path) -> None:
    with pytest.raises(InputError, match=r"lies inside .*, a finished folder"):
        output = place / "my.index" / "a.evidence"
        compare("my.index", "queries.jsonl", "a.run", None, model="absent", output_evidence=output)
    with pytest.raises(InputError, match=r"lies inside .*, a finished folder"):
        expand("docs.jsonl", "absent", place / "my.index" / "new.jsonl")


def test_expansions_are_not_packed(place: Path) -> None:
    with pytest.raises(InputError, match=r"the queries are not packed; leave \.gz out"):
        expand("docs.jsonl", "t5", "new.jsonl.gz")
    assert not (place / "new.jsonl.gz").exists()


def test_expansions_in_python_take_the_place_of_no_input(place: Path, database: str) -> None:
    for source, output in (("docs/*.jsonl", "docs/d1.jsonl"), (["docs.jsonl"], "docs.jsonl"), (database, "docs.db")):
        before = (place / output).read_bytes()
        with pytest.raises(InputError, match="is also an input and would be overwritten"):
            expand(source, "t5", output)
        assert (place / output).read_bytes() == before
