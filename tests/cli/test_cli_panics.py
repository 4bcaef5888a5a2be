from __future__ import annotations

import pytest

from longrank.cli import main


class PanicException(BaseException):
    """What PyO3 raises for a panic of Rust: no Exception."""


def test_a_panic_of_a_native_library_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def panics(commands: object) -> None:
        raise PanicException("Onig: Regex search error: retry-limit-in-match over\nmore")

    monkeypatch.setattr(main, "build_app", panics)
    assert main.main(["doctor"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert "retry-limit-in-match over" in lines[0]
