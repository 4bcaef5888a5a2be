"""The entry: what is said when no command, a wrong one or a wrong option is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from longrank.cli.main import COMMANDS, main


def test_without_arguments_every_command_is_shown_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr()
    assert all(f"\n  {name} " in shown.out for name in COMMANDS)
    assert "..." not in shown.out.split("Start:")[1]
    assert shown.err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["index"], "Missing argument 'SOURCE'; see longrank index --help"),
        (["search", "--quux"], "No such option: --quux; see longrank search --help"),
        (["--quux"], "No such option: --quux; see longrank --help"),
        (["serch"], "unknown command 'serch'; did you mean 'search'?"),
    ],
)
def test_wrong_usage_is_one_line_that_names_the_page_to_read(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"longrank: error: {message}")
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize("name", ["loop", "x" * 300, "no/such/file"])
@pytest.mark.parametrize(
    "command",
    [
        "index {} -o new",
        "check {}",
        "search {} dogs",
        "retrieve {} {} -o new",
        "rerank {} {} {} -o new",
        "aggregate {} -o new --aggregator maxp",
        "fuse {} {} -o new --method rrf",
        "evaluate {} {}",
        "evaluate good.qrels {}",
    ],
)
def test_a_name_that_leads_nowhere_is_a_users_mistake_in_one_line(
    command: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "good.qrels").write_text("1 0 d1 1\n")
    assert main([name if part == "{}" else part for part in command.split()]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"longrank: error: {name}: ")
    assert shown.err.count("\n") == 1
    assert "Errno" not in shown.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good.qrels", "loop"]


def test_a_source_without_a_name_is_not_the_current_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.txt").write_text("dogs")
    assert main(["index", "", "-o", "new"]) == 2  # longrank index "$UNSET" -o new
    assert "an empty name" in capsys.readouterr().err


def test_debug_is_understood_after_the_command_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longrank.cli.console._state", {"debug": False})
    assert main(["check", "no.index", "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_an_interruption_is_said_and_is_exit_130(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(path: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("longrank.verbs.check.check", interrupted)
    assert main(["check", "my.index"]) == 130
    assert "run the same command to go on" in capsys.readouterr().err


def test_of_processes_that_train_together_the_first_says_what_is_wrong_with_the_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(seconds: float) -> None:
        raise SystemExit(143)  # as by SIGTERM, which torchrun sends when the first has failed

    monkeypatch.setattr("longrank.cli.main.time.sleep", ended)
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(SystemExit):
        main(["check", "no.index"])
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("RANK", "0")
    assert main(["check", "no.index"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_process_whose_input_alone_is_wrong_says_so_after_a_while(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("longrank.cli.main.time.sleep", waited.append)
    monkeypatch.setenv("RANK", "1")
    assert main(["check", "no.index"]) == 2
    assert capsys.readouterr().err.startswith("longrank: error: no.index: ")
    assert len(waited) == 1


@pytest.mark.parametrize(
    ("command", "notes"),
    [
        ("index x -o i --fields a --fields b", ["--fields is given 2"]),
        ("evaluate x y -m R@5 -m R@10 --complete --intersection", ["--complete/--intersection is given 2"]),
        (
            "search x y --set k1=1 --set b=1 --set k1=2 --filter {} --filter {}",
            ["--filter is given 2", "--set k1 is given 2"],
        ),
        ("index x -o i --include a --include b --strict --strict --set a=1", []),
        ("analyze collection x --field a --field b --field c", ["--field is given 3"]),
    ],
)
def test_an_option_that_is_given_again_is_said_to_count_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, notes: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(command.split()) == 2
    said = [line for line in capsys.readouterr().err.splitlines() if "times" in line]
    assert [line.partition(" times")[0] for line in said] == [f"longrank: note: {note}" for note in notes]
