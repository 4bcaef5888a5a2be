"""Training without its libraries names the extra, and writes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from longrank.cli.main import main
from longrank.verbs import train


@pytest.mark.parametrize(
    "command",
    [
        ["train", "parade", "my.index", "topics.jsonl", "qrels.txt", "bm25.run"],
        ["train-passages", "monobert", "e.jsonl"],
    ],
)
def test_the_extra_is_named(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in command[2:]:
        (tmp_path / name).write_text("")
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(train, "find_spec", lambda name: None)
    assert main([*command, "-o", "trained"]) == 2
    assert "longrank: error: training needs the extra 'neural'; " in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before
