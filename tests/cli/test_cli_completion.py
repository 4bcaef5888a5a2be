"""Completion in the shell: commands, options, and names of LongRank's own registries."""

from __future__ import annotations

from pathlib import Path

import pytest

from longrank.cli.main import main


def completed(line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the completions of bash for the last word of a line."""
    monkeypatch.setenv("_LONGRANK_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    capsys.readouterr()
    assert main([]) == 0
    return capsys.readouterr().out.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("longrank re", ["retrieve", "rerank", "reproduce"]),
        ("longrank train", ["train", "train-passages"]),
        ("longrank search --pip", ["--pipeline"]),
        ("longrank search x --pipeline mi", ["minilm", "minilm-hybrid", "minilm-sparse", "mixed", "mixed-hybrid"]),
        ("longrank rerank --pipeline lex", ["lexical"]),
        ("longrank retrieve x --preset de", ["dense"]),
        ("longrank tune --preset bm25-anserini+a", ["bm25-anserini+axiomatic"]),
        ("longrank aggregate e --aggregator maxp", ["maxp"]),
        ("longrank reproduce santos/figure", ["santos/figure1", "santos/figure2", "santos/figure3"]),
        ("longrank nothing", []),
    ],
)
def test_words_are_completed(
    line: str, expected: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert completed(line, monkeypatch, capsys) == expected


@pytest.mark.parametrize(("shell", "variable"), [("zsh", "complete_zsh"), ("fish", "complete_fish")])
def test_zsh_and_fish_pass_the_line(
    shell: str, variable: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_LONGRANK_COMPLETE", variable)
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    lines = {"longrank trai": "train-passages", "longrank search 'a b' --pipeline mixed-": "mixed-hybrid"}
    for line, expected in lines.items():
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
        assert main([]) == 0
        assert expected in capsys.readouterr().out


@pytest.mark.parametrize(
    ("shell", "file"),
    [
        ("bash", ".bash_completions/longrank.sh"),
        ("zsh", ".zfunc/_longrank"),
        ("fish", ".config/fish/completions/longrank.fish"),
    ],
)
def test_completion_is_installed_for_a_shell(
    shell: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("shellingham.detect_shell", lambda *_: (shell, shell))
    assert main(["--install-completion"]) == 0
    assert "_LONGRANK_COMPLETE" in (tmp_path / file).read_text()
