"""``doctor``, ``cache`` and the help page by task."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import typer

from longrank.cli.listing import TASKS, summaries
from longrank.cli.main import COMMANDS, build_app, main
from longrank.storage import cache
from longrank.verbs.doctor import doctor


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with three entries of 1,000, 300 and 20 bytes."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "longrank"
    for name, size in (("demo-1/docs", 1000), ("models/a/w", 300), ("models/b", 20)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x" * size)
    return folder


def test_the_doctor_describes_and_ends_with_0(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("PATH", "")  # no Java
        assert main(["doctor"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = [line.split(maxsplit=1) for line in out.splitlines() if line.startswith("  ")]
    assert ["longrank", version("longrank")] in lines
    assert re.search(r"^  Java +none", out, re.MULTILINE)
    assert f"{folder}: 1 KiB" in out
    assert "HF_HUB_OFFLINE is set" in out
    assert [line for line in out.splitlines() if line[0] != " "] == [
        "versions", "extras", "machine", "caches", "network",
    ]  # fmt: skip


def test_a_hub_that_does_not_answer_is_said(folder: Path) -> None:
    said = {finding.name: finding.state for finding in doctor({"HF_ENDPOINT": "http://127.0.0.1:9"})}
    assert said["Hugging Face hub"].startswith("http://127.0.0.1:9 cannot be reached (")
    said = {finding.name: finding.state for finding in doctor({"HF_ENDPOINT": "file:///etc/passwd"})}
    assert said["Hugging Face hub"] == "HF_ENDPOINT is no address: file:///etc/passwd"


def test_the_cache_is_listed_and_entries_are_removed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "list"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [row[2] for row in rows[:-1]] == ["demo-1", "models/a", "models/b"]
    assert rows[-1][-1] == str(folder)
    assert cache.entries() == {"demo-1": 1000, "models/a": 300, "models/b": 20}
    assert main(["cache", "remove", "models/a", "models/b"]) == 0
    assert cache.entries() == {"demo-1": 1000}
    assert main(["cache", "remove", "--all"]) == 0
    assert cache.entries() == {}


def test_a_removal_that_is_killed_leaves_no_half_entry(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(place: Path) -> None:
        assert place.is_dir()
        raise KeyboardInterrupt

    cache.use_cache_folder(folder)
    with monkeypatch.context() as interrupted:
        interrupted.setattr("shutil.rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            cache.remove("models/a")
    left = [name for name in cache.entries() if name.startswith("models/.a.")]
    assert cache.entries() == {"demo-1": 1000, "models/b": 20, left[0]: 300}
    assert cache.remove(left[0]) == 300


@pytest.mark.parametrize("arguments", [[], ["demo-1", "--all"], ["../x"], ["models"], ["/etc"], ["none"]])
def test_only_entries_are_removed(arguments: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder.parent / "x").write_text("mine")
    assert main(["cache", "remove", *arguments]) == 2
    assert capsys.readouterr().err.startswith("longrank: error: ")
    assert (folder.parent / "x").exists()
    assert len(cache.entries()) == 3


def test_a_link_in_the_cache_is_removed_and_its_target_stays(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (folder / "link").symlink_to(target)
    cache.use_cache_folder(folder)
    cache.remove("link")
    assert target.is_dir()
    assert not (folder / "link").is_symlink()


def test_the_help_page_has_the_summaries_of_the_commands() -> None:
    shown = summaries(COMMANDS)
    for name, command in typer.main.get_command(build_app(list(COMMANDS))).commands.items():  # type: ignore[attr-defined]
        assert " ".join(shown[name].split()) == " ".join((command.help or "").split("\n\n")[0].split()), name


def test_every_task_names_commands_once() -> None:
    named = [name for names in TASKS.values() for name in names]
    assert len(named) == len(set(named))
    assert not set(COMMANDS) - set(named)


def test_the_help_page_imports_no_command() -> None:
    code = "import sys; from longrank.cli.main import main; main(['--help']); print([m for m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = ast.literal_eval(done.stdout.splitlines()[-1])
    heavy = {"scipy", "numba", "numpy", "torch", "pydantic", "longrank.cli.index", "longrank.cli.analyze"}
    assert not heavy & {*loaded}


@pytest.mark.parametrize("command", ["search", "index", "rerank", "evaluate", "train", "serve"])
def test_the_help_of_a_command_imports_nothing_that_computes(command: str) -> None:
    run = f"import sys; from longrank.cli.main import main; main(['{command}', '--help'])"
    code = f"{run}; print([m for m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = ast.literal_eval(done.stdout.splitlines()[-1])
    assert not {"scipy", "numba", "numpy", "torch", "longrank.types", "longrank.index"} & {*loaded}


def test_the_citation_has_the_version() -> None:
    root = Path(__file__).parents[2]
    if not (root / "CITATION.cff").is_file():
        pytest.skip("the tests run without the repository")
    declared = re.search(r'^version = "(.+)"$', (root / "pyproject.toml").read_text(), re.MULTILINE)
    assert declared is not None
    assert f"\nversion: {declared[1]}\n" in (root / "CITATION.cff").read_text()
