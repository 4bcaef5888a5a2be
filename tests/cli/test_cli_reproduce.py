"""reproduce by its documented command line, on a collection whose figures are known (tests/reproductions.py)."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from longrank.cli import reproduce as command
from longrank.cli.main import main
from longrank.index import Index
from longrank.reproduction.recipe_files import recipe_names
from longrank.storage import lock
from reproductions import MATPLOTLIB, RECIPE, T_TEST, done, finished, workplace

__all__ = ["done", "finished", "workplace"]  # fixtures

REPORTS = ("results.json", "per-query.json", "report.md", "report.html", "commands.sh")


def reproduce(*arguments: str, on: str = "tiny", output: str = "out") -> int:
    return main(["reproduce", *arguments, "--collection", on, "-o", output])


def results(name: str = "table") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path("out", name, "results.json").read_text())
    return found


def contents(folder: str = "out/table") -> dict[str, bytes]:
    """Return what was written, but for the seconds that phases took."""
    return {path.name: path.read_bytes() for path in Path(folder).iterdir() if path.is_file()}


# --- what comes out -----------------------------------------------------------------------------


def test_figures_stand_beside_the_published_ones(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert reproduce("table.toml") == 0
    assert capsys.readouterr().out.splitlines() == [
        "PARADE, Table 0: b, the default and a better one",
        "                    RR  queries",
        "b = .4          0.7501        4",
        "  obtained      0.7500        -",
        "b = .6          0.8000        -",
        "  obtained      1.0000        -",
        "others' system  0.9000        -",
        "ours                 -        -",
        "  obtained           -        4",
        "Of 4 published figures, 1 matches, 1 is higher, 2 are not obtained.",
        "A figure matches if it is at most 0.005 off; 0.5% of other quantities, or it rounds to the published one.",
        "* differs from b = .4 with p < 0.05 (paired t-test, not corrected), on these queries.",
    ]
    first, second, other, ours = results()["rows"]
    assert first["verdicts"] == {"RR": "match", "queries": "not obtained"}
    assert second["verdicts"] == {"RR": "higher"}
    assert second["p"] == {"RR": pytest.approx(T_TEST, abs=1e-6)}
    assert (other["verdicts"], other["remark"]) == ({"RR": "not obtained"}, "quoted from elsewhere")
    assert (ours["row"], ours["obtained"], ours["published"]) == ("ours", {"queries": 4}, {})
    per_query = json.loads(Path("out/table/per-query.json").read_text())
    assert per_query["b = .4"] == {"RR": {"a1": 1.0, "b1": 0.5, "a2": 1.0, "b2": 0.5}}


def test_queries_that_no_fold_tests_count_in_no_measure_which_is_said(workplace: Path) -> None:
    shutil.copytree("tiny", "other")
    folds = {"s1": {"train": ["a2"], "dev": ["b2"], "test": ["a1", "b1"]}}
    Path("other/folds.json").write_text(json.dumps(folds))
    assert reproduce("table.toml", on="other") == 0
    assert results()["queries"] == 2
    assert "2 judged queries are tested by no fold, and count in no measure of a ranking" in results()["departures"]
    per_query = json.loads(Path("out/table/per-query.json").read_text())
    assert per_query["b = .4"] == {"RR": {"a1": 1.0, "b1": 0.5}}


def test_a_model_that_cannot_be_had_is_missed_before_anything_is_run(
    workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reproduce("birch/results-robust04", "--set", 'trained_on=["MB"]') == 2
    said = capsys.readouterr().err
    assert "the published model of the role MB cannot be downloaded" in said
    assert "--model 'MB=FOLDER'" in said and "phase 1" not in said
    assert not Path("out/birch").exists()
    assert reproduce("birch/results-robust04", "--set", 'trained_on=["MB"]', "--dry-run") == 0


def test_settings_that_give_two_rows_of_one_name_are_refused_before_anything_is_run(
    workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twice = ("--set", 'systems=["BM25", "BM25"]')
    for more in ((), ("--dry-run",)):
        assert reproduce("parade/table2-gov2-title", *twice, *more) == 2
        assert "give two rows of one name (got 'BM25')" in capsys.readouterr().err
    assert not Path("out/parade").exists()


def test_nothing_is_judged_on_another_collection_or_with_other_settings(workplace: Path) -> None:
    shutil.copytree("tiny", "other")
    assert reproduce("table.toml", "--set", "k=2", "--model", "encoder=mine", on="other") == 0
    assert results()["departures"] == [
        "collection other, paper tiny",
        "encoder mine, paper nobody/model",
        "k 2, paper 1000",
    ]
    verdicts = {verdict for row in results()["rows"] for verdict in row.get("verdicts", {}).values()}
    assert verdicts == {"not comparable here", "not obtained"}


def test_a_report_is_written_without_matplotlib(workplace: Path) -> None:
    assert reproduce("table.toml") == 0
    assert "No plots: drawing needs the extra &#x27;plots&#x27;" in Path("out/table/report.html").read_text()
    assert list(Path("out/table").glob("*.svg")) == []


@pytest.mark.skipif(MATPLOTLIB is None, reason="needs the extra plots")
def test_plots_stand_in_the_page_and_beside_the_markdown(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", MATPLOTLIB)
    assert reproduce("table.toml") == 0
    assert Path("out/table/report.html").read_text().count("<svg ") == 2
    pictures = {path.name for path in Path("out/table").glob("*.svg")}
    assert pictures == {"figures.svg", "queries.svg"}
    assert all(f"]({name})" in Path("out/table/report.md").read_text() for name in pictures)


# --- doing it again, and being interrupted ------------------------------------------------------


def test_the_same_command_again_runs_nothing_and_changes_no_byte(done: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents()
    monkeypatch.setattr(command, "_run", lambda *_: pytest.fail("a finished command was run"))
    assert reproduce("table.toml") == 0
    assert contents() == before


def test_a_missing_run_is_made_again(done: Path) -> None:
    before = contents()
    Path("out/table/better.run").unlink()
    assert reproduce("table.toml") == 0
    assert contents() == before


KILLED = """
import os, signal, sys
import pytest, reproductions
from longrank.cli import reproduce
from longrank.cli.main import main
reproductions.install(pytest.MonkeyPatch())
phase, when = int(sys.argv[1]), sys.argv[2]
run, seen = reproduce._run, []
def dies(command, number):
    seen.append(number)
    if len(seen) < phase:
        return run(command, number)
    if when == "after":
        run(command, number)
    os.kill(os.getpid(), signal.SIGKILL)
reproduce._run = dies
main(["reproduce", "table.toml", "--collection", "tiny", "-o", "out"])
"""


@pytest.mark.parametrize(("phase", "when"), [(1, "after"), (2, "before"), (3, "after")])
def test_a_killed_reproduction_goes_on_to_the_same_bytes(done: Path, phase: int, when: str) -> None:
    whole = contents()
    shutil.rmtree("out")
    path = [str(Path(__file__).resolve().parents[1]), *sys.path]
    killed = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}\n{KILLED}", str(phase), when],
        check=False,
        capture_output=True,
    )
    assert killed.returncode == -9, killed.stderr.decode()
    assert not Path("out/table/results.json").exists()
    assert reproduce("table.toml") == 0
    assert contents() == whole


def test_an_interrupt_ends_it_with_130_and_the_same_command_goes_on(
    done: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = contents()
    shutil.rmtree("out")
    with monkeypatch.context() as patched:
        patched.setattr("longrank.collections.read_queries", _interrupted)
        assert reproduce("table.toml", "fails.toml") == 130
    assert "run the same command to go on" in capsys.readouterr().err
    assert not Path("out/fails").exists()  # the other recipes do not go on
    assert reproduce("table.toml") == 0
    assert contents() == whole


def _interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_the_printed_script_makes_the_same_again(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert reproduce("table.toml", "--dry-run") == 0
    script = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("#")]
    assert not Path("out").exists()
    assert reproduce("table.toml") == 0
    assert Path("out/table/commands.sh").read_text().splitlines() == script
    before = contents()
    for run in Path("out/table").glob("*.run"):
        run.unlink()
    for line in script:
        assert main(shlex.split(line)[1:]) == 0, line
    assert contents() == before


def test_the_script_of_several_recipes_has_what_they_share_once(
    workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy("table.toml", "second.toml")
    Path("lost.toml").write_text(RECIPE.replace('program = "tiny:table"\n', ""))
    assert reproduce("table.toml", "lost.toml", "second.toml", "--dry-run") == 0
    out, err = capsys.readouterr()
    commands = [line.split()[1] for line in out.splitlines() if not line.startswith("#")]
    assert commands == ["index", "retrieve", "retrieve", "retrieve", "retrieve"]
    assert "lost.toml: PARADE, Table 0: the recipe has no program" in err
    assert reproduce("lost.toml", "--dry-run") == 2


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing/table"], "unknown recipe (got 'nothing/table')"),
        (["nothing.toml"], "nothing.toml: no such file"),
        (["table.toml", "--set", "kk=3"], "has no such setting (got 'kk=3'); did you mean 'k'?"),
        (["table.toml", "--set", "k=many"], "setting k is a whole number (got 'many'); as 1000"),
        (["table.toml", "--set", "share=true"], "setting share is a number (got true); as 0.5"),
        (["table.toml", "--set", "name="], "setting name is text"),
        (["table.toml", "--model", "encode=x"], "has no such model (got 'encode'); did you mean 'encoder'?"),
        (["table.toml", "--model", "encoder"], "--model takes KEY=VALUE (got 'encoder')"),
        (["table.toml", "table.toml", "--set", "train.loop=3", "--set", "train.loop.steps=3"], "holds a value"),
    ],
)
def test_what_no_recipe_knows_is_refused_and_nothing_is_written(
    workplace: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert reproduce(*arguments) == 2
    assert said in capsys.readouterr().err
    assert not Path("out").exists()


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_other_queries_that_are_not_there_are_missed_before_anything_is_run(
    workplace: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    assert reproduce("santos/table2-2002", "--set", "heldout=no/where", *more) == 2
    assert "no/where/queries.jsonl: no such file" in capsys.readouterr().err
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("on", "said"), [("no-such", "unknown collection (got 'no-such')"), ("no/such", "no/such: no such folder")]
)
def test_an_unknown_collection_is_refused(
    workplace: Path, capsys: pytest.CaptureFixture[str], on: str, said: str
) -> None:
    assert reproduce("table.toml", on=on) == 2
    assert said in capsys.readouterr().err
    assert not Path("out").exists()


def test_a_recipe_that_shows_nothing_to_obtain_says_why(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    without = RECIPE.replace('program = "tiny:table"\n', "").replace(
        'row = "b = .4"', 'row = "b = .4"\nreason = "lost"'
    )
    Path("lost.toml").write_text(without)
    assert reproduce("lost.toml") == 2
    assert "the recipe has no program (got 'lost.toml'); lost" in capsys.readouterr().err
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("k = 1000", "kk = 1000", "Table 0: the program tiny:table needs other settings (got 'no setting k')"),
        ("queries = 0", 'queries = "x"', "setting queries is a whole number (got 'x')"),
        ('measures = ["RR"]', 'measures = ["RR", "map", "AP"]', "a measure is named twice (got 'map, AP')"),
        ('measures = ["RR"]', 'measures = ["RR", "XX"]', "unknown measure (got 'XX')"),
    ],
)
def test_a_recipe_of_ones_own_is_checked_before_its_first_command(
    workplace: Path, capsys: pytest.CaptureFixture[str], before: str, after: str, said: str
) -> None:
    Path("table.toml").write_text(RECIPE.replace(before, after))
    assert reproduce("table.toml") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert not Path("out").exists()


def test_a_program_that_does_not_exist_is_refused(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("table.toml").write_text(RECIPE.replace("tiny:table", "tiny:tables"))
    assert reproduce("table.toml") == 2
    assert "table.toml: program: unknown program; did you mean 'tiny:table'?" in capsys.readouterr().err


def test_collection_and_output_must_be_given(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "table.toml"]) == 2
    assert "--collection and -o are needed" in capsys.readouterr().err
    assert main(["reproduce"]) == 2
    assert "no recipe is named" in capsys.readouterr().err


def test_an_output_that_is_or_lies_in_an_input_is_refused(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("tiny/docs.jsonl").rename("tiny/one.jsonl")
    Path("tiny/docs").mkdir()
    Path("tiny/one.jsonl").rename("tiny/docs/one.jsonl")
    assert reproduce("table.toml", output="tiny/docs/out") == 2
    assert "lies inside an input" in capsys.readouterr().err
    assert reproduce("table.toml", output="tiny") == 2
    assert "is not empty and holds no reproduction" in capsys.readouterr().err
    assert reproduce("table.toml", output="table.toml") == 2
    assert "is a file; a folder is needed" in capsys.readouterr().err
    assert reproduce("table.toml", output="no/such") == 2
    assert "mkdir -p no" in capsys.readouterr().err


def test_a_folder_of_another_reproduction_is_refused_and_stays_as_it_is(
    done: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents()
    assert reproduce("table.toml", "--set", "k=3") == 2
    assert "out/table/reproduction.json: was begun with other settings.k: 1000 then, 3 now" in capsys.readouterr().err
    shutil.copytree("tiny", "other")
    assert reproduce("table.toml", on="other") == 2
    assert 'out/reproduction.json: was begun with other collection: "tiny" then, "other" now' in capsys.readouterr().err
    documents = next(Path("tiny").glob("docs.jsonl*"))
    kept = documents.read_bytes()
    documents.write_bytes(kept.replace(b"a", b"b", 1))
    assert reproduce("table.toml") == 2
    assert "out/reproduction.json: was begun with other state of the documents" in capsys.readouterr().err
    documents.write_bytes(kept)
    Path("tiny/qrels.txt").write_text("a1 0 long-a 1\nb1 0 long-b 1\n")
    assert reproduce("table.toml") == 2
    assert "out/table/reproduction.json: was begun with other queries.jsonl" in capsys.readouterr().err
    assert contents() == before


def test_a_folder_whose_first_command_failed_is_free_for_other_settings(
    workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("table.toml").write_text(RECIPE.replace("k = 1000", "k = 0"))  # of which `retrieve` complains
    assert reproduce("table.toml") == 2
    assert {path.name for path in Path("out/table").iterdir()} >= {"queries.jsonl", "reproduction.json"}
    capsys.readouterr()
    assert reproduce("table.toml", "--set", "k=9", "--set", "queries=3") == 0
    assert results()["queries"] == 3
    assert reproduce("table.toml") == 2
    assert "was begun with other settings.queries: 3 then, 0 now" in capsys.readouterr().err


def test_another_model_in_a_folder_of_the_same_name_is_another_reproduction(
    workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("model/part.d").mkdir(parents=True)
    Path("model/part.d/weights").write_text("1")
    assert reproduce("table.toml", "--model", "encoder=model") == 0
    assert reproduce("table.toml", "--model", "encoder=model") == 0
    Path("model/part.d/weights").write_text("2")
    assert reproduce("table.toml", "--model", "encoder=model") == 2
    assert "was begun with other models.encoder" in capsys.readouterr().err


def test_another_model_in_a_folder_that_a_recipe_names_is_another_reproduction(
    workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("model").mkdir()
    Path("model/weights").write_text("1")
    text = Path("table.toml").read_text()
    assert text.count("nobody/model") == 1
    Path("table.toml").write_text(text.replace("nobody/model", "model"))
    assert reproduce("table.toml") == 0
    Path("model/weights").write_text("2")
    assert reproduce("table.toml") == 2
    assert "was begun with other models.encoder" in capsys.readouterr().err


def test_documents_that_change_before_an_index_is_built_are_refused(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Indexes of a table would be of different documents."""
    documents = next(Path("tiny").glob("docs.jsonl*"))
    kept, run = documents.read_bytes(), command._run

    def changing(arguments: Sequence[str], *more: Any) -> None:
        if arguments[0] == "index":
            documents.write_bytes(kept + b'{"doc_id": "more", "text": "more"}\n')
        run(arguments, *more)

    with monkeypatch.context() as patched:
        patched.setattr(command, "_run", changing)
        assert reproduce("table.toml") == 2
    assert "out: the documents have changed since the reproduction began; put the documents" in capsys.readouterr().err
    documents.write_bytes(kept)
    assert reproduce("table.toml") == 0
    texts = [document.text for document in Index.open(Path("out/index"))]
    assert texts == [json.loads(line)["text"] for line in kept.splitlines()]


def test_a_model_that_changes_between_two_phases_is_refused(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The figures would be of two models."""
    Path("model").mkdir()
    Path("model/weights").write_text("1")
    run = command._run

    def changing(arguments: Sequence[str], *more: Any) -> None:
        run(arguments, *more)
        if arguments[0] == "retrieve":
            Path("model/weights").rename("kept")
            Path("model/weights").write_text("2")

    with monkeypatch.context() as patched:
        patched.setattr(command, "_run", changing)
        assert reproduce("table.toml", "--model", "encoder=model") == 2
    said = "first.run: a model, or a file that settings name, has changed meanwhile; put them back, delete first.run"
    assert said in capsys.readouterr().err
    assert not Path("out/table/results.json").exists()
    assert "first.run" not in Path("out/phases.json").read_text()  # a later run with the old model would take it
    Path("kept").replace("model/weights")

    def touching(*arguments: Any) -> None:
        run(*arguments)
        os.utime("model/weights")

    monkeypatch.setattr(command, "_run", touching)
    assert reproduce("table.toml", "--model", "encoder=model") == 0


@pytest.mark.parametrize("file", ["phases.json", "reproduction.json", "table/reproduction.json"])
@pytest.mark.parametrize("damage", [b"", b"[1]", b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_file_is_named(done: Path, capsys: pytest.CaptureFixture[str], file: str, damage: bytes) -> None:
    Path("out", file).write_bytes(damage)
    assert reproduce("table.toml") == 3
    assert f"out/{file}: " in capsys.readouterr().err


def test_a_second_process_in_the_folder_is_refused(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("out").mkdir()
    with lock(Path("out/.lock")):
        assert reproduce("table.toml") == 2
    assert "is being written by pid" in capsys.readouterr().err
    assert reproduce("table.toml") == 0


# --- several recipes ----------------------------------------------------------------------------


def test_when_a_recipe_fails_the_others_run_and_its_exit_code_is_passed_on(
    workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reproduce("fails.toml", "table.toml") == 2  # what `longrank check` gives for a folder that is not there
    out, err = capsys.readouterr()
    assert "longrank: recipe 2 of 2: table.toml" in err
    assert "fails.toml: failed: longrank check out/fails/nothing ended with exit code 2\n" in out
    assert results()["rows"][0]["obtained"] == {"RR": 0.75}
    assert not Path("out/fails/results.json").exists()
    page = Path("out/index.html").read_text()
    assert 'href="table/report.html"' in page
    assert 'href="fails/report.html"' not in page
    assert "[table.toml](table/report.md)" in Path("out/summary.md").read_text()


def test_a_recipe_that_fails_alone_gives_its_command_and_exit_code(
    workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reproduce("fails.toml") == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == "longrank: error: longrank check out/fails/nothing ended with exit code 2"


def test_each_recipe_takes_the_settings_that_it_knows(workplace: Path) -> None:
    Path("second.toml").write_text(RECIPE.replace("share = 0.5\n", ""))
    assert reproduce("table.toml", "second.toml", "--set", "share=0.25", "--set", "k=10") == 0
    assert results("table")["settings"]["share"] == 0.25
    assert "share" not in results("second")["settings"]
    assert [results(name)["settings"]["k"] for name in ("table", "second")] == [10, 10]


def test_two_recipes_of_one_name_are_refused(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("more").mkdir()
    shutil.copy("table.toml", "more/table.toml")
    assert reproduce("table.toml", "more/table.toml") == 2
    assert "two recipes would be written to one folder (got 'table')" in capsys.readouterr().err


def test_recipes_share_the_index(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy("table.toml", "second.toml")
    ran: list[str] = []
    monkeypatch.setattr(command, "_run", _listening(command._run, ran))
    assert reproduce("table.toml", "second.toml") == 0
    assert ran == ["index", "retrieve", "retrieve", "retrieve", "retrieve"]


def _listening(run: Callable[[Sequence[str], str], None], ran: list[str]) -> Callable[[Sequence[str], str], None]:
    def listen(arguments: Sequence[str], number: str) -> None:
        ran.append(arguments[0])
        run(arguments, number)

    return listen


# --- the list -----------------------------------------------------------------------------------


def test_the_list_names_every_recipe_in_lines_of_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    assert {line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "} == set(recipe_names())


def test_the_list_of_a_paper_names_its_recipes_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list", "santos"]) == 0
    out = capsys.readouterr().out
    assert "  santos/table2-2002  Table 2\n" in out
    assert "on gov-2002 (licensed) or time; models encoder" in out
    assert "parade/" not in out
