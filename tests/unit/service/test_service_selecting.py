"""Cascades select passages in batches shared with other requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from longrank.ranking.cascade import CheapSelector
from longrank.ranking.explain import search
from longrank.scoring.bi_encoder import BiEncoder
from longrank.service.served import PipelineChoice
from longrank.service.settings import ServiceSettings
from served import DOCUMENTS, FILLER, FOX, ask_once, desk_of
from tiny_models import save_encoder

pytestmark = pytest.mark.neural

TEXTS = [FILLER, FOX, f"{FILLER} a fox", f"{FOX} " * 3]
SMALL = ServiceSettings(batch_tokens=40)


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cascade")
    model = save_encoder(folder / "encoder")
    path = folder / "narrow.toml"
    path.write_text(
        'about = "x"\n[first_stage]\npreset = "bm25-anserini"\n[passages]\npreset = "windows"\n'
        f'[select]\nname = "bm25+vectors"\nmodel = "{model}"\nn = 1\npooled = true\n'
        '[scorer]\nname = "lexical"\n[aggregate]\nname = "sump"\n'
    )
    return path


def steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the number of passages of each call of the encoder; selecting in one step fails."""
    sizes: list[int] = []
    score = BiEncoder.score

    def counted(self: BiEncoder, tasks: Any) -> Any:
        sizes.append(sum(len(task.texts) for task in tasks))
        return score(self, tasks)

    def whole(self: CheapSelector, tasks: Any, *, weights: bool = True) -> Any:
        raise AssertionError("a step that no other request can interrupt")

    monkeypatch.setattr(BiEncoder, "score", counted)
    monkeypatch.setattr(CheapSelector, "select", whole)
    return sizes


@pytest.mark.parametrize("more", [{}, {"deadline": 20}])
def test_reranking_selects_as_python_does_in_many_steps(
    pipeline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    desk = desk_of(tmp_path, PipelineChoice(str(pipeline)), settings=SMALL)
    reranker = desk.engine.served().reranker
    assert reranker is not None
    expected = [(result.index, result.score) for result in reranker.rank("a fox on the moon", TEXTS)]
    sizes = steps(monkeypatch)
    value = {"query": "a fox on the moon", "documents": TEXTS, "raw_scores": True, "evidence": True} | more
    reply = ask_once(desk, "POST", "/v1/rerank", value)
    assert reply.status == 200, reply.body
    assert [(item["index"], item["relevance_score"]) for item in reply.json["results"]] == expected
    assert max(sizes) <= 2 < len(sizes)
    assert sum(item["evidence"]["n_scored"] for item in reply.json["results"]) == len(TEXTS)


@pytest.mark.parametrize("more", [{}, {"deadline": 20}])
def test_a_search_selects_as_python_does_in_many_steps(
    pipeline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    desk = desk_of(tmp_path, PipelineChoice(str(pipeline)), settings=SMALL)
    opened = desk.engine.served().pipeline
    assert opened is not None
    expected = [(result.doc_id, result.score) for result in search(opened, "a fox on the moon", k=3)]
    sizes = steps(monkeypatch)
    reply = ask_once(desk, "POST", "/search", {"query": "a fox on the moon", "k": 3} | more)
    assert reply.status == 200, reply.body
    assert [(item["doc_id"], item["score"]) for item in reply.json["results"]] == expected
    assert max(sizes) <= 2 < len(sizes)
    assert len(DOCUMENTS) == len(expected)
