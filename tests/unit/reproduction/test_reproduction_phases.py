"""Commands run once; what is remembered of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from longrank.errors import InputError, IntegrityError, LongRankError
from longrank.index import Index
from longrank.reproduction import phases as module
from longrank.reproduction.phases import Phases, check_outputs
from stored import random_vectors, store


class Runner:
    """Makes the file that a command names last, and remembers what it ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.numbers: list[str] = []

    def __call__(self, command: Sequence[str], number: str) -> None:
        self.ran.append(" ".join(command[:-1]))
        self.numbers.append(number)
        if command[0] == "breaks":
            raise LongRankError("broken")
        if command[0] != "idles":
            Path(command[-1]).write_text(" ".join(command))


def do(folder: Path, run: Runner, *words: str, output: str = "a") -> Phases:
    phases = Phases(folder, run)
    phases.do([*words, str(folder / output)], folder / output)
    return phases


def test_a_command_runs_once_in_this_process_and_in_the_next(tmp_path: Path) -> None:
    run = Runner()
    phases = do(tmp_path, run, "makes")
    phases.do(["makes", str(tmp_path / "a")], tmp_path / "a")
    later = do(tmp_path, run, "makes")
    assert run.ran == ["makes"]
    assert phases.commands == later.commands == [["makes", str(tmp_path / "a")]]  # though it was not run: the script


def test_an_output_that_a_check_refuses_is_made_again(tmp_path: Path) -> None:
    run = Runner()

    def refuse() -> None:
        raise InputError("changed")

    with pytest.raises(InputError, match="changed"):
        Phases(tmp_path, run).do(["makes", str(tmp_path / "a")], tmp_path / "a", refuse)
    Phases(tmp_path, run).do(["makes", str(tmp_path / "a")], tmp_path / "a", lambda: None)
    assert run.ran == ["makes", "makes"]
    Phases(tmp_path, run).do(["makes", str(tmp_path / "a")], tmp_path / "a", refuse)


def test_evidence_beside_an_output_is_checked_and_made_again(tmp_path: Path) -> None:
    evidence, ran = tmp_path / "a.evidence", []

    def run(command: Sequence[str], number: str) -> None:
        ran.append(command[0])
        (tmp_path / "a").write_text("run")
        evidence.write_text("scores")

    def do_it() -> None:
        Phases(tmp_path, run).do(["rerank", "-o", str(tmp_path / "a")], tmp_path / "a")

    do_it()
    assert check_outputs(tmp_path) == 1
    evidence.write_text("others")
    for read in (do_it, lambda: check_outputs(tmp_path)):
        with pytest.raises(IntegrityError, match=r"a\.evidence: checksum differs; delete the file to run"):
            read()
    evidence.unlink()
    with pytest.raises(IntegrityError, match=r"a\.evidence: missing"):
        check_outputs(tmp_path)
    do_it()
    assert (check_outputs(tmp_path), ran) == (1, ["rerank", "rerank"])


def test_development_rows_beside_an_output_are_checked_and_made_again(tmp_path: Path) -> None:
    dev, ran = tmp_path / "dev", []

    def run(command: Sequence[str], number: str) -> None:
        ran.append(command[0])
        for name in ("a", "dev") if command[0] == "weak-labels" else ("b",):
            (tmp_path / name).write_text(f"{command[0]} {len(ran)}")

    def do_both() -> None:
        phases = Phases(tmp_path, run)
        phases.do(["weak-labels", "-o", str(tmp_path / "a"), "--dev", str(dev)], tmp_path / "a")
        phases.do(["train-passages", str(tmp_path / "a"), "-o", str(tmp_path / "b"), "--dev", str(dev)], tmp_path / "b")

    do_both()
    do_both()
    assert ran == ["weak-labels", "train-passages"]
    dev.write_text("fewer rows")
    for read in (do_both, lambda: check_outputs(tmp_path)):
        with pytest.raises(IntegrityError, match="dev: checksum differs; delete the file to run"):
            read()
    dev.unlink()
    do_both()
    assert ran == ["weak-labels", "train-passages"] * 2


def test_versions_are_those_of_the_commands_not_of_the_last_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("1", "2"):
        monkeypatch.setattr(module, "versions_and_machine", lambda version=version: {"torch": version, "cores": "2"})
        phases = do(tmp_path, Runner(), "makes")
    assert phases.versions() == {"torch": "1, 2", "cores": "2"}
    kept = json.loads((tmp_path / "phases.json").read_text())
    kept["a"].pop("by")  # as earlier versions wrote it
    (tmp_path / "phases.json").write_text(json.dumps(kept))
    phases = do(tmp_path, Runner(), "makes")
    assert phases.versions() == {"torch": "unknown, 2", "cores": "unknown, 2"}
    phases.do(["makes", str(tmp_path / "b")], tmp_path / "b")
    assert json.loads((tmp_path / "phases.json").read_text())["b"]["by"] == {"torch": "2", "cores": "2"}


def test_a_folder_that_another_command_has_changed_is_refused(tmp_path: Path) -> None:
    """Figures of a changed index would stand beside those of the index that was built."""
    folder = tmp_path / "index"

    def build(command: Sequence[str], number: str) -> None:
        Index.build([("d1", "Dogs bark."), ("d2", "Cats purr.")], folder)

    def do_it() -> None:
        Phases(tmp_path, build).do(["index", "-o", str(folder)], folder)

    do_it()
    do_it()
    store(Index(folder), random_vectors(Index(folder)))  # vectors are no change of the documents
    do_it()
    assert check_outputs(tmp_path) == 0
    Index(folder).delete(["d2"])
    for read in (do_it, lambda: check_outputs(tmp_path)):
        with pytest.raises(IntegrityError, match=r"manifest\.json: checksum differs; delete the folder to run"):
            read()
    shutil.rmtree(folder)
    with pytest.raises(IntegrityError, match=r"index/manifest\.json: missing"):
        check_outputs(tmp_path)
    do_it()
    assert len(Index(folder)) == 2


def test_it_runs_again_if_the_evidence_that_it_read_was_made_again_with_other_content(tmp_path: Path) -> None:
    run, scores, ran = tmp_path / "a.run", ["old"], []

    def execute(command: Sequence[str], number: str) -> None:
        ran.append(command[0])
        Path(command[-1]).write_text("run")
        if command[0] == "rerank":
            (tmp_path / "a.run.evidence").write_text(scores[0])

    for scores[0] in ("old", "old", "new"):
        phases = Phases(tmp_path, execute)
        (tmp_path / "a.run.evidence").unlink(missing_ok=True)
        phases.do(["rerank", "-o", str(run)], run)
        phases.do(["aggregate", f"{run}.evidence", "-o", str(tmp_path / "b")], tmp_path / "b")
    assert ran == ["rerank", "aggregate", "rerank", "rerank", "aggregate"]


def test_it_runs_again_if_what_it_read_was_made_again_with_other_content(tmp_path: Path) -> None:
    a, b = tmp_path / "a.run", tmp_path / "b.run"
    version, ran = ["old"], []

    def run(command: Sequence[str], number: str) -> None:
        ran.append(command[0])
        Path(command[-1]).write_text(version[0] + (a.read_text() if command[0] == "rerank" else ""))

    def program() -> None:
        phases = Phases(tmp_path, run)
        phases.do(["retrieve", "-o", str(a)], a)
        phases.do(["rerank", str(a), "-o", str(b)], b)

    program()
    program()
    a.unlink()
    program()  # the same bytes
    assert ran == ["retrieve", "rerank", "retrieve"]
    a.unlink()
    version[0] = "new"
    program()
    assert ran[3:] == ["retrieve", "rerank"]
    assert b.read_text() == "newnew"


def test_it_runs_again_if_what_it_made_is_gone(tmp_path: Path) -> None:
    run = Runner()
    do(tmp_path, run, "makes")
    (tmp_path / "a").unlink()
    do(tmp_path, run, "makes")
    assert run.ran == ["makes", "makes"]


def test_another_command_with_the_same_output_replaces_it(tmp_path: Path) -> None:
    run = Runner()
    for word in ("one", "two", "one"):
        do(tmp_path, run, word)
    assert run.ran == ["one", "two", "one"]


def test_a_command_that_failed_is_not_remembered_and_neither_is_what_it_would_have_replaced(tmp_path: Path) -> None:
    run = Runner()
    do(tmp_path, run, "makes")
    with pytest.raises(LongRankError, match="broken"):
        do(tmp_path, run, "breaks")
    do(tmp_path, run, "makes")  # what it made may be half overwritten
    assert run.ran == ["makes", "breaks", "makes"]


def test_a_command_that_does_not_make_its_output_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LongRankError, match="was not written by: longrank idles"):
        do(tmp_path, Runner(), "idles")


def test_a_dry_run_reads_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "phases.json").write_text("damaged")
    run = Runner()
    phases = Phases(tmp_path, run, dry=True)
    phases.do(["makes it", "-o", "x"], tmp_path / "x")
    assert (run.ran, phases.script()) == ([], "longrank 'makes it' -o x\n")
    assert [path.name for path in tmp_path.iterdir()] == ["phases.json"]


def test_commands_are_numbered_also_beyond_those_that_were_planned(tmp_path: Path) -> None:
    run = Runner()
    phases = Phases(tmp_path, run, planned=2)
    for name in "abc":
        phases.do(["makes", str(tmp_path / name)], tmp_path / name)
    Phases(tmp_path, run).do(["makes", str(tmp_path / "d")], tmp_path / "d")
    assert run.numbers == ["1 of 2", "2 of 2", "3 of 3", "1"]


def test_the_folder_can_be_moved_as_long_as_commands_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    run = Runner()
    monkeypatch.chdir(tmp_path / "one")
    Phases(Path(), run).do(["makes", "a"], Path("a"))
    for name in ("a", "phases.json"):
        (tmp_path / "one" / name).rename(tmp_path / "two" / name)
    monkeypatch.chdir(tmp_path / "two")
    Phases(Path(), run).do(["makes", "a"], Path("a"))
    assert run.ran == ["makes"]


@pytest.mark.parametrize("text", ["", "[]", '["a"]', '{"a": 1}', "{", "null"])
def test_a_damaged_list_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "phases.json").write_text(text)
    with pytest.raises(IntegrityError, match="delete it to run all commands again"):
        Phases(tmp_path, Runner())


def test_seconds_are_kept(tmp_path: Path) -> None:
    do(tmp_path, Runner(), "makes")
    kept = json.loads((tmp_path / "phases.json").read_text())
    assert kept["a"]["command"] == ["makes", str(tmp_path / "a")]
    assert 0 <= kept["a"]["seconds"] < 60
