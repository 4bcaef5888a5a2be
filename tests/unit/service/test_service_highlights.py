"""Best sentences over HTTP: offsets in every dialect, scored in the model thread, counted before admission."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from fakes import index_of
from longrank.protocols import PassageScores, ScoringTask
from longrank.ranking.texts import Reranker
from longrank.service.admission import Admission
from longrank.service.engine import Engine
from longrank.service.rerank import Service, cost_of_sentences
from longrank.service.served import PipelineChoice
from longrank.types import Document, Notes
from served import FILLER, SET, Reply, answers, opened

TEXT = f"😀 The tide. A fox and a fox! {FILLER}. {FILLER}. {FILLER}. One moon. The last fox?"
RERANK = {"query": "fox", "documents": [TEXT, FILLER], "evidence": True, "passages": 2}
DIALECTS = [
    ("/v2/rerank", RERANK),
    ("/v1/rerank", RERANK),
    ("/rerank", {"query": "fox", "texts": [TEXT, FILLER], "evidence": True, "passages": 2}),
]


@pytest.fixture
def desk(tmp_path: Path) -> Service:
    index = index_of([Document("t", "", TEXT), Document("u", "", f"{TEXT} {TEXT}")], tmp_path / "served")
    engine = Engine([PipelineChoice("lexical")], index, assignments=SET, notes=Notes())
    engine.load()
    return opened(engine)


class Watched:
    """Keeps the thread and the texts of every call of a scorer."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.calls = inner, []  # type: ignore[var-annotated]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
        self.calls.append((threading.current_thread().name, [text for task in tasks for text in task.texts]))
        return self.inner.score(tasks)  # type: ignore[no-any-return]


def watched(desk: Service) -> Watched:
    reranker = desk.engine.served().reranker
    assert reranker is not None
    reranker.scorer.scorer = Watched(reranker.scorer.scorer)
    return reranker.scorer.scorer


def asked(desk: Service, path: str, value: Any) -> Reply:
    return answers(desk, lambda ask: ask("POST", path, value))  # type: ignore[no-any-return]


@pytest.mark.parametrize(("path", "value"), DIALECTS)
def test_the_evidence_of_every_dialect_has_the_librarys_sentences(desk: Service, path: str, value: Any) -> None:
    reply = asked(desk, path, value).json
    best, *_ = reply if isinstance(reply, list) else reply["results"]
    ranked = Reranker("lexical", assignments=list(SET)).rank("fox", [TEXT, FILLER], passages=2)[0]
    assert [one["highlights"] for one in best["passages"]] == [
        [[*span] for span in one.highlights] for one in ranked.passages
    ]
    texts = [[TEXT[a:b] for a, b in one["highlights"]] for one in best["passages"]]
    assert texts == [["A fox and a fox!"], ["The last fox?"]]


@pytest.mark.parametrize("request_", [("/v2/rerank", RERANK), ("/search", {"query": "fox", "passages": 2})])
def test_sentences_are_scored_in_the_model_thread(desk: Service, request_: tuple[str, Any]) -> None:
    scorer = watched(desk)
    assert asked(desk, *request_).status == 200
    assert {thread for thread, _ in scorer.calls} == {"longrank-models"}
    (_, passages), (_, sentences) = scorer.calls
    assert len(passages) > 2
    assert all(any(text in passage for passage in passages) for text in sentences)


def test_a_request_without_evidence_scores_no_sentence(desk: Service) -> None:
    scorer = watched(desk)
    assert asked(desk, "/v2/rerank", {"query": "fox", "documents": [TEXT]}).status == 200
    assert len(scorer.calls) == 1


@pytest.mark.parametrize(
    ("path", "value", "n_passages"),
    [
        ("/v2/rerank", {"query": "fox", "documents": [TEXT] * 9, "top_n": 2}, 0),
        ("/v2/rerank", {"query": "fox", "documents": [TEXT] * 9, "top_n": 1, "evidence": True, "passages": 3}, 3),
        ("/search", {"query": "fox", "k": 10, "passages": 3}, 6),  # two documents have a fox
        ("/search", {"query": "fox", "passages": 0}, 0),
    ],
)
def test_admission_counts_the_sentences_before_they_are_known(
    desk: Service, path: str, value: Any, n_passages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    admitted: list[int] = []
    admit = Admission.admit
    monkeypatch.setattr(Admission, "admit", lambda self, n, until: (admitted.append(n), admit(self, n, until))[1])
    monkeypatch.setattr(f"longrank.service.{path[-6:]}.cost_of_sentences", lambda served, n: n)
    assert asked(desk, path, value).status == 200
    monkeypatch.setattr(f"longrank.service.{path[-6:]}.cost_of_sentences", lambda served, n: 0)
    assert asked(opened(desk.engine), path, value).status == 200
    assert admitted[0] - admitted[1] == n_passages
    assert desk.admission.active == 0


def test_sentences_cost_what_their_scorer_reads(desk: Service) -> None:
    """BM25 reads for little; a passage of ten words has about sixteen tokens."""
    served = desk.engine.served()
    assert 10 < served.passage_tokens < 25
    assert cost_of_sentences(served, 0) == 0
    assert 0 < cost_of_sentences(served, 1000) <= 0.05 * 1000 * served.passage_tokens
