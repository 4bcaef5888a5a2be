"""Every recipe's dry run prints commands that the command line takes, with inputs that exist, or the name of a role."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import typer.main

from longrank.cli.main import build_app, main
from longrank.reproduction.inputs import INPUTS
from longrank.reproduction.recipe_files import load_recipe, recipe_names
from sentence_reproductions import write_with_sentences

pytestmark = pytest.mark.neural

_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
"""A name of Hugging Face, or of a shipped model."""


WITHOUT_COMMANDS = {"maxp/figure1-samples-gov2", "maxp/figure1-samples-robust04"}
"""Recipes that count queries and judgments, which no command does."""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection with all files that settings of recipes name."""
    folder = write_with_sentences(tmp_path_factory.mktemp("dry") / "tiny")
    for name in ("passage_qrels.txt", "fira_qrels.txt", "triples.train.small.tsv"):
        (folder / name).write_text("q00 0 d00#0 3\n")
    (folder / "judged-before.txt").write_text("q00 0 d00 0\n")
    return folder


@pytest.fixture
def _other_topics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries of ir_datasets that a recipe learns on, without a network."""
    ir_datasets = pytest.importorskip("ir_datasets", reason="needs the extra irds")
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    (tmp_path / "queries.tsv").write_text("1\tanother question\n")
    standin = ir_datasets.create_dataset(queries_tsv=str(tmp_path / "queries.tsv"))
    monkeypatch.setitem(ir_datasets.registry._registered, "msmarco-document/trec-dl-2019/judged", standin)


@pytest.mark.usefixtures("_other_topics")
@pytest.mark.parametrize("name", [name for name in recipe_names() if load_recipe(name)[0].program])
def test_the_commands_of_a_dry_run_parse_and_their_inputs_exist(
    name: str, tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["reproduce", name, "--collection", str(tiny), "-o", str(out), "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    roles = set(re.findall(r"^# role:(\S+) stands for --model", "\n".join(lines), re.MULTILINE))
    assert roles <= set(load_recipe(name)[0].models)
    assert any(line.startswith("# CHOSEN stands for") for line in lines) is any("=CHOSEN" in line for line in lines)
    made = [str(out / "scores.cache"), *(str(out / name / written) for written in (*INPUTS, "queries-"))]
    commands = [shlex.split(line) for line in lines if not line.startswith("#")]
    assert commands or name in WITHOUT_COMMANDS
    for program, *command in commands:
        assert program == "longrank"
        _parse(command)
        for value in _inputs(command):
            assert _is_there(value, made), value
            assert " trained on " not in value
        for model in _values(command, "--model", "network.model="):
            assert _is_model(model, roles, made), model
        made += _outputs(command)


def test_a_network_that_is_trained_on_titles_is_used_with_titles(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["reproduce", "parade/table8", "--collection", str(tiny), "-o", str(tmp_path / "out"), "--dry-run"]
    uses = []
    for more in ([], ["--set", "train.read.title=true"]):
        assert main([*arguments, *more]) == 0
        commands = [shlex.split(line) for line in capsys.readouterr().out.splitlines()]
        uses.append([{*command} for command in commands if command[:2] == ["longrank", "rerank"]])
    assert uses[0]
    assert not any("title=true" in words for words in uses[0])
    assert all("title=true" in words for words in uses[1])


def _parse(command: list[str]) -> None:
    """Parse a command as the command line does, and run nothing."""
    words, group = list(command), _parser(command[0])
    context = group.make_context("longrank", list(words))
    while hasattr(group, "commands"):
        assert words[0] in group.commands, command
        group, name = group.commands[words[0]], words[0]
        words = words[1:]
        context = group.make_context(name, list(words), parent=context)


@cache
def _parser(name: str) -> Any:
    return typer.main.get_command(build_app([name]))


def _inputs(command: list[str]) -> Iterator[str]:
    """Yield the words of a command that name files, but not its outputs."""
    written = _outputs(command)
    for word in command[1:]:
        for part in word.split(","):
            if part.startswith("/") and part not in written:
                yield part


def _outputs(command: list[str]) -> list[str]:
    return _values(command, "-o", *(("--dev",) if command[0] in ("rows", "weak-labels") else ()))


def _values(command: list[str], *names: str) -> list[str]:
    found = [value for name, value in pairwise(command) if name in names]
    return found + [word[len(name) :] for word in command for name in names if "=" in name and word.startswith(name)]


def _is_there(value: str, made: list[str]) -> bool:
    return Path(value).exists() or any(value.startswith(path) for path in made)


def _is_model(model: str, roles: set[str], made: list[str]) -> bool:
    if model.startswith("role:"):
        return model.removeprefix("role:") in roles
    return _is_there(model, made) if model.startswith("/") else bool(_NAME.fullmatch(model))
