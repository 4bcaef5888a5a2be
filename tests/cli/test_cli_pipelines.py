"""``longrank pipelines``: one line per shipped pipeline."""

from __future__ import annotations

import json

import pytest

from longrank.cli.main import main
from longrank.ranking.settings import load_pipeline, overview, shipped_pipelines


def test_every_shipped_pipeline_has_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipelines"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == shipped_pipelines()
    assert next(line for line in lines if line.startswith("cascade ")).split()[-2:] == ["--model", "needed"]


def test_json_lines_name_scorer_aggregation_and_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipelines", "--json"]) == 0
    rows = {row["name"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}
    models = {name: (rows[name]["model"], rows[name]["needs_model"]) for name in ("bm25", "lexical", "maxp", "birch")}
    assert models == {"bm25": (None, False), "lexical": (None, False), "maxp": ("minilm", False), "birch": (None, True)}
    assert (rows["birch"]["scorer"], rows["birch"]["aggregator"]) == ("cross-encoder", "birch")


def test_descriptions_are_short_and_may_stand_in_any_pipeline_file() -> None:
    assert all(0 < len(row.about) <= 90 for row in overview())
    assert load_pipeline("maxp", ["about=mine"]).about == "mine"
