"""`longrank.reproduce`: recipes as values, without the command line."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import longrank
from longrank.errors import InputError
from longrank.reproduction.phases import CommandFailed, run_in_new_process
from longrank.verbs.reproduce import reproduction_script
from reproductions import workplace

__all__ = ["workplace"]  # fixture


def in_process(command: Sequence[str], number: str) -> None:
    """Run a command as `run_in_new_process` does, without the seconds of a new process."""
    from longrank.cli.main import main

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = main(command)
    if code:
        raise CommandFailed(command, code)


def test_a_recipe_gives_its_rows_and_prints_nothing(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = longrank.reproduce("table.toml", "tiny", "out", settings={"k": 3}, run=in_process)
    assert capsys.readouterr() == ("", "")
    result = done.results["table.toml"]
    assert [line.name for line in result.lines] == ["b = .4", "b = .6", "others' system", "ours"]
    assert result.lines[0].obtained == {"RR": 0.75}
    assert result.departures == ["k 3, paper 1000"]
    assert str(done).startswith("PARADE, Table 0")
    assert json.loads(Path("out/table/results.json").read_text())["settings"]["k"] == 3


def test_of_several_recipes_the_others_run_when_one_fails(workplace: Path) -> None:
    told: list[str] = []
    done = longrank.reproduce([Path("fails.toml"), "table.toml"], Path("tiny"), "out", run=in_process, tell=told.append)
    assert done.failures.keys() == {"fails.toml"} and done.results.keys() == {"table.toml"}
    assert [outcome.name for outcome in done.outcomes] == ["fails.toml", "table.toml"]
    assert "fails.toml: failed: longrank check out/fails/nothing ended with exit code 2" in str(done)
    assert told[0] == "recipe 1 of 2: fails.toml" and told[-1] == "out: index.html, summary.md"
    with pytest.raises(CommandFailed):
        longrank.reproduce("fails.toml", "tiny", "out", run=in_process)


def test_by_default_commands_run_in_new_processes(workplace: Path) -> None:
    run_in_new_process(["index", "tiny/docs.jsonl", "-o", "tiny.index"], "1")
    assert Path("tiny.index/manifest.json").exists()
    with pytest.raises(CommandFailed, match="ended with exit code 2: longrank: error: nothing") as caught:
        run_in_new_process(["check", "nothing"], "1")
    assert caught.value.exit_code == 2


def test_an_output_inside_an_input_is_refused(workplace: Path) -> None:
    with pytest.raises(InputError, match="is also an input"):
        longrank.reproduce("table.toml", "tiny", "model", models={"encoder": Path("model")}, run=in_process)


def test_a_script_has_the_commands_and_writes_nothing(workplace: Path) -> None:
    script = reproduction_script("table.toml", "tiny", "out", settings=["k=3"])
    assert [line.split()[1] for line in script.splitlines() if line[0] != "#"] == ["index", "retrieve", "retrieve"]
    assert not Path("out").exists()
