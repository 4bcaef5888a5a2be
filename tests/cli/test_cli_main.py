"""The entry: what is said when no command, a wrong one or a wrong option is given."""

from __future__ import annotations

import pytest

from longrank.cli.main import COMMANDS, main


def test_without_arguments_every_command_is_shown_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr()
    assert all(f"\n  {name} " in shown.out for name in COMMANDS)
    assert "..." not in shown.out.split("Commands:")[1]
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


def test_debug_is_understood_after_the_command_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longrank.cli.console._state", {"debug": False})
    assert main(["check", "no.index", "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err
