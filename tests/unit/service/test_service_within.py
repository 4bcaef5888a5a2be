"""Answers within a time: what is read by then, counted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from longrank.protocols import PassageScores, ScoringTask
from longrank.ranking.prepared_texts import TextLimits
from longrank.ranking.promising import Piece, counts_of, part_of, promising
from longrank.ranking.texts import Reranker
from longrank.service.errors import LATE, Refusal
from longrank.service.rerank import Service
from longrank.service.settings import ServiceSettings
from served import DOCUMENTS, FILLER, FOX, Reply, ask_once, desk_of

TEXTS = [FILLER, FOX, f"{FILLER} a fox", FILLER]
READ_FIRST = 1  # FOX holds the passage with the most foxes
COUNTS = ("n_documents", "n_read", "n_partly", "n_unread")


class Stopping:
    """Scores `n` batches; then the time is up, whatever the clock says."""

    needs_model, scores_documents = False, False

    def __init__(self, inner: Any, n: int) -> None:
        self.unit, self.fingerprint, self._inner, self._left = inner.unit, inner.fingerprint, inner, n

    def score(self, tasks: Sequence[ScoringTask]) -> list[PassageScores]:
        self._left -= 1
        if self._left < 0:
            raise Refusal(504, LATE, "the time is up")
        return list(self._inner.score(tasks))


def stopping_desk(folder: Path, n: int) -> Service:
    """Return a desk that scores `n` batches of a passage each in time."""
    desk = desk_of(folder, settings=ServiceSettings(batch_tokens=1))
    served = desk.engine.served()
    assert served.reranker is not None
    scorer: Any = served.reranker.scorer
    scorer.scorer = Stopping(scorer.scorer, n)
    return desk


def asked(desk: Service, path: str, value: dict[str, Any]) -> Reply:
    reply = ask_once(desk, "POST", path, value)
    assert reply.status == 200, reply.body
    return reply


@pytest.mark.parametrize(("path", "key"), [("/v2/rerank", "documents"), ("/v1/rerank", "documents")])
def test_the_most_promising_passage_is_read_first_and_the_rest_is_counted(tmp_path: Path, path: str, key: str) -> None:
    value = {"query": "fox", key: TEXTS, "deadline": 20, "evidence": True}
    reply = asked(stopping_desk(tmp_path, 1), path, value).json
    assert reply["meta"]["partial"] == dict(zip(COUNTS, (4, 0, 1, 3), strict=True))
    assert reply["meta"]["warnings"][0] == ("the deadline passed: 3 of 4 documents were not read, 1 were read in part")
    assert not any("pipeline" in warning for warning in reply["meta"]["warnings"])  # the deadline left them unread
    results = reply["results"]
    assert [item["index"] for item in results] == [READ_FIRST, 0, 2, 3]  # without a score: last, in their order
    assert [item["aggregate"] is None for item in results] == [False, True, True, True]
    assert [item["evidence"]["n_scored"] for item in results] == [1, 0, 0, 0]
    assert [item["relevance_score"] for item in results[1:]] == [0.0, 0.0, 0.0]
    assert "FOX" in results[0]["passages"][0]["text"]


def test_the_list_of_tei_counts_in_its_header(tmp_path: Path) -> None:
    reply = asked(stopping_desk(tmp_path, 1), "/rerank", {"query": "fox", "texts": TEXTS, "deadline": 20})
    assert "3 of 4 documents were not read" in reply.headers["x-warnings"]
    assert [item["index"] for item in reply.json] == [READ_FIRST, 0, 2, 3]


def test_raw_scores_of_unread_documents_lie_below_the_others(tmp_path: Path) -> None:
    value = {"query": "fox", "documents": TEXTS, "deadline": 20, "raw_scores": True, "top_n": 3}
    results = asked(stopping_desk(tmp_path, 1), "/v1/rerank", value).json["results"]
    scores = [item["relevance_score"] for item in results]
    assert len(scores) == 3
    assert scores[0] > scores[1] > scores[2]


def test_a_ranking_of_which_nothing_was_read_keeps_the_order(tmp_path: Path) -> None:
    reply = asked(stopping_desk(tmp_path, 0), "/v2/rerank", {"query": "fox", "documents": TEXTS, "deadline": 20})
    assert [item["index"] for item in reply.json["results"]] == [0, 1, 2, 3]
    assert reply.json["meta"]["partial"]["n_unread"] == 4


def test_a_search_without_time_is_the_first_stage(tmp_path: Path) -> None:
    value = {"query": "fox moon", "deadline": 20, "pipeline": "lexical"}
    partial = asked(stopping_desk(tmp_path / "a", 0), "/search", value).json
    first = asked(desk_of(tmp_path / "b"), "/search", {"query": "fox moon", "pipeline": "bm25"}).json
    assert [item["doc_id"] for item in partial["results"]] == [item["doc_id"] for item in first["results"]]
    assert partial["partial"]["n_unread"] == partial["partial"]["n_documents"] == len(DOCUMENTS)
    assert first["partial"] is None


def test_a_search_that_stops_ranks_what_is_read_before_the_rest(tmp_path: Path) -> None:
    reply = asked(stopping_desk(tmp_path, 1), "/search", {"query": "fox", "deadline": 20}).json
    assert [item["n_scored"] for item in reply["results"]] == [1, *[0] * (len(reply["results"]) - 1)]
    assert reply["partial"]["n_unread"] == len(reply["results"]) - 1


@pytest.mark.parametrize("path", ["/v2/rerank", "/v1/rerank", "/search"])
def test_with_time_enough_the_answer_is_the_same_as_without_a_deadline(tmp_path: Path, path: str) -> None:
    value = {"query": "fox moon"} if path == "/search" else {"query": "fox moon", "documents": TEXTS, "evidence": True}
    whole = asked(desk_of(tmp_path / "a"), path, value).json
    timed = asked(desk_of(tmp_path / "b"), path, value | {"deadline": 20}).json
    assert timed["results"] == whole["results"]
    assert (timed["partial"] if path == "/search" else timed["meta"].get("partial")) is None


@pytest.mark.parametrize("n_read", [0, 1])  # before the deadline
def test_refused_truncation_refuses_a_partial_ranking(tmp_path: Path, n_read: int) -> None:
    value = {"query": "fox", "documents": TEXTS, "deadline": 20, "truncation": False}
    assert ask_once(stopping_desk(tmp_path, n_read), "POST", "/v1/rerank", value).status == 422


@pytest.mark.parametrize("wrong", [0, -1, "soon"])
def test_a_wrong_deadline_is_named(tmp_path: Path, wrong: object) -> None:
    value = {"query": "fox", "documents": TEXTS, "deadline": wrong}
    reply = ask_once(desk_of(tmp_path), "POST", "/v2/rerank", value)
    assert reply.status == 422
    assert "/deadline" in reply.json["message"]


def test_all_pieces_of_a_block_are_the_block() -> None:
    reranker = Reranker("lexical", assignments=["passages.options={length=10, stride=10}"])
    block = reranker.prepare("fox", TEXTS, TextLimits()).block
    pieces = promising(reranker.scorer, block.tasks)
    scores = reranker.scorer.scorer.score(block.tasks)
    by_place = {n: PassageScores(*(a[list(p.passages)] for a in scores[p.document][:2])) for n, p in enumerate(pieces)}
    part = part_of(block, pieces, by_place)
    assert part.documents == list(range(len(TEXTS)))
    assert counts_of(block, part) is None
    for ours, theirs in zip(part.scores, scores, strict=True):
        np.testing.assert_array_equal(ours.scores, theirs.scores)
    assert [task.passages for task in part.block.tasks] == [task.passages for task in block.tasks]
    assert pieces[0].document == READ_FIRST
    assert len(set(pieces)) == len(pieces) == sum(len(task.passages) for task in block.tasks)
    assert isinstance(pieces[0], Piece)
