"""What is shown of long work where there is no terminal."""

from __future__ import annotations

import sys

import numba
import pytest

from longrank.cli import console


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, in seconds, to be changed by the test."""
    now = [100.0]
    monkeypatch.setattr("longrank.cli.console.time.monotonic", lambda: now[0])
    return now


def test_the_time_left_is_that_of_what_this_run_does(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    """Of 100, 80 are found done; 4 in 20 seconds leave 16, so 80 seconds."""
    with console.progress("reranking", 100, "queries") as advance:
        advance(80)
        clock[0] += 20
        advance(4)
    assert capsys.readouterr().err == "longrank: reranking: 84 of 100 queries, 80 s left\n"


def test_lines_come_every_ten_seconds(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with console.progress("indexing", None, "documents") as advance:
        for _ in range(25):
            clock[0] += 1
            advance(2)
    assert capsys.readouterr().err.splitlines() == [
        "longrank: indexing: 20 documents",
        "longrank: indexing: 40 documents",
    ]


def test_columns_are_aligned_to_the_right() -> None:
    assert console.aligned(("a", "long"), [("100", "1"), ("2", "20")]) == ["  a  long", "100     1", "  2    20"]


@pytest.mark.parametrize("terminal", [True, False])
def test_compilation_is_told_at_a_terminal(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    with console.telling_compilation():
        assert numba.njit(lambda x: x + 1)(1) == 2
    assert ("compiling, once per machine" in capsys.readouterr().err) is terminal
