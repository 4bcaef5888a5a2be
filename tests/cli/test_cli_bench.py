from __future__ import annotations

import json
from pathlib import Path

import pytest

from longrank.cli.main import main
from tiny_models import save_encoder


@pytest.mark.neural
def test_bench_prints_a_row_per_length_and_writes_them_with_the_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longrank.scoring.speed._SHAPES", ((512, 256, 256),))
    folder, output = str(save_encoder(tmp_path / "m")), tmp_path / "bench.json"
    capsys.readouterr()
    lengths = ["--length", "16", "--length", "32"]
    assert main(["bench", folder, *lengths, "--threads", "1", "--seconds", "0", "-o", str(output)]) == 0
    shown = capsys.readouterr().out.splitlines()
    record = json.loads(output.read_text())
    assert "1 threads" in shown[0]
    assert record["machine"]["threads"] == 1
    assert [row["length"] for row in record["measurements"]] == [16, 32]
    assert [line.split()[:2] for line in shown[2:]] == [["float32", "16"], ["float32", "32"]]
    assert all(0 < row["share"] < 1 and row["device"] == "cpu" for row in record["measurements"])


@pytest.mark.neural
def test_nothing_is_measured_if_the_result_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "minilm", "-o", str(tmp_path / "none" / "b.json")]) == 2
    assert "its folder does not exist" in capsys.readouterr().err


@pytest.mark.neural
def test_the_files_of_the_model_are_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = save_encoder(tmp_path / "m")
    before = (folder / "config.json").read_bytes()
    assert main(["bench", str(folder), "--seconds", "0", "-o", str(folder / "config.json")]) == 2
    assert "lies inside an input" in capsys.readouterr().err
    assert (folder / "config.json").read_bytes() == before


def test_a_scorer_without_a_network_cannot_be_measured(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    assert main(["bench", "minilm", "--scorer", "lexical"]) == 2
    assert "the lexical scorer has no option" in capsys.readouterr().err
