"""rerank and search with --score-cache."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakes import documents, index_of
from longrank.cli.main import main
from tiny_models import save_cross_encoder

FOUND, FRESH = "passages whose scores came from the score cache", "passages whose scores were not in the score cache"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cached")
    index_of(documents(12), folder / "index")
    rows = [{"query_id": "1", "text": "river bank"}, {"query_id": "2", "text": "king of the city"}]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = [f"{q} Q0 d{n:03d} {n + 1} {12 - n} t\n" for q in (1, 2) for n in range(8)]
    (folder / "bm25.run").write_text("".join(run))
    return folder


def rerank(folder: Path, output: Path, *more: str) -> int:
    files = [str(folder / name) for name in ("index", "queries.jsonl", "bm25.run")]
    return main(["rerank", *files, "-o", str(output), *more])


@pytest.mark.neural
def test_a_second_run_takes_its_scores_from_the_first(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(save_cross_encoder(tmp_path / "model"))
    usual = ["--pipeline", "maxp", "--model", model, "--score-cache", str(tmp_path / "cache")]
    assert rerank(folder, tmp_path / "one", *usual, "--depth", "3") == 0
    first = capsys.readouterr().err
    assert FOUND not in first
    count = int(first.split(f"{FRESH}: ")[1].split()[0])
    assert rerank(folder, tmp_path / "same", *usual, "--depth", "3") == 0
    said = capsys.readouterr().err
    assert f"{FOUND}: {count}" in said
    assert FRESH not in said
    assert (tmp_path / "one").read_bytes() == (tmp_path / "same").read_bytes()
    assert rerank(folder, tmp_path / "deeper", *usual, "--depth", "8") == 0
    said = capsys.readouterr().err
    assert f"{FOUND}: {count}" in said
    assert FRESH in said
    assert main(["search", str(folder / "index"), "river bank", *usual]) == 0
    assert FOUND in capsys.readouterr().err


@pytest.mark.neural
def test_no_output_replaces_a_file_of_the_model_or_another_output(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = save_cross_encoder(tmp_path / "model")
    before, usual = sorted(model.iterdir()), ["--pipeline", "maxp", "--model", str(model)]
    settings = (model / "config.json").read_bytes()
    assert rerank(folder, model / "config.json", *usual) == 2
    assert "config.json: lies inside an input" in capsys.readouterr().err
    assert rerank(folder, tmp_path / "run", *usual, "--score-cache", str(model / "cache")) == 2
    assert "cache: lies inside an input" in capsys.readouterr().err
    assert (sorted(model.iterdir()), (model / "config.json").read_bytes()) == (before, settings)
    assert rerank(folder, tmp_path / "run", *usual, "--score-cache", str(tmp_path / "run.evidence")) == 2
    assert "run.evidence: is also an input and would be overwritten" in capsys.readouterr().err
    assert not (tmp_path / "run.evidence").exists()


@pytest.mark.neural
def test_evidence_is_not_gone_on_with_across_runs_with_and_without_a_cache(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = ["--pipeline", "maxp", "--model", str(save_cross_encoder(tmp_path / "model"))]
    assert rerank(folder, tmp_path / "one", *usual) == 0
    capsys.readouterr()
    assert rerank(folder, tmp_path / "one", *usual, "--score-cache", str(tmp_path / "cache")) == 2
    assert "scorer" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("pipeline", "said"),
    [("bm25", "has no passage scorer"), ("lexical", "a scorer that reads query and passage together")],
)
def test_pipelines_that_have_nothing_to_keep_refuse_a_cache(
    pipeline: str, said: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = tmp_path / "cache"
    arguments = ["search", str(folder / "index"), "river", "--pipeline", pipeline, "--score-cache", str(cache)]
    assert main(arguments) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("longrank: error: ")
    assert said in line
    assert not cache.exists()


@pytest.mark.neural
@pytest.mark.parametrize(("damaged", "code"), [(False, 2), (True, 3)])
def test_foreign_and_damaged_files_are_one_line(
    damaged: bool, code: int, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = ["--pipeline", "maxp", "--model", str(save_cross_encoder(tmp_path / "model"))]
    cache = tmp_path / "cache"
    cache.write_text("mine " * 1000)
    if damaged:
        cache.unlink()
        assert rerank(folder, tmp_path / "one", *usual, "--score-cache", str(cache)) == 0
        content = cache.read_bytes()
        cache.write_bytes(content[:4096] + b"\x55" * (len(content) - 4096))
    before = cache.read_bytes()
    capsys.readouterr()
    assert rerank(folder, tmp_path / "two", *usual, "--score-cache", str(cache)) == code
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert str(cache) in lines[0]
    assert cache.read_bytes() == before
    assert not (tmp_path / "two").exists()
