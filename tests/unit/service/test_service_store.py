"""A store behind the server: candidates of each search, documents by id, and refusals of what a store cannot do."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from longrank.cli.main import main
from longrank.collections import read_run
from longrank.errors import InputError
from longrank.ranking.from_store import index_of_run, pipeline_of_candidates
from longrank.ranking.settings import load_pipeline
from longrank.retrieval.stores import Found
from longrank.retrieval.stores.found import SeveralTexts
from longrank.service.engine import Engine
from longrank.service.errors import Refusal
from longrank.service.rerank import Service
from longrank.service.served import PipelineChoice
from longrank.service.served_store import ServedStore
from longrank.types import Document, Notes, Query
from served import FOX, SET, Ask, Reply, answers, opened
from tiny_models import save_cross_encoder

TEXTS = {
    "far": Document("far", "", "no animal here. " * 40, (), {"year": 1990}),
    "fox": Document("fox", "The fox", FOX, (), {"year": 1999}),
}


class Shelf:
    """A store in memory that finds documents by one word."""

    analyzer = "porter"

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        self.gone = self.in_part = False

    def search(self, query: Query, k: int, notes: Notes) -> list[Found]:
        self.asked.append((query.text, k))
        self._check(notes)
        found = [one for one in TEXTS.values() if query.text in one.text or query.text == "all"]
        return [Found(one, 1.0 + n) for n, one in enumerate(found)][:k]

    def documents(self, doc_ids: Sequence[str], notes: Notes) -> list[Document]:
        self._check(notes)
        return [TEXTS[doc_id] for doc_id in doc_ids if doc_id in TEXTS]

    def _check(self, notes: Notes) -> None:
        notes.add("queries answered in part", "postgresql:host/db", int(self.in_part))
        if self.gone:
            raise InputError("cannot connect", path="shelf.toml", fix="see `url`")


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def test_words_of_candidates_are_those_of_the_stores_analyzer() -> None:
    store = Shelf()
    store.analyzer = "cjk"
    index = index_of_run(store, [Query("q", "x")], read_run({"q": {"fox": 1.0}}), Notes())
    assert index.options.analyzer == "cjk"
    found = pipeline_of_candidates(store, "all", load_pipeline("lexical"), k=2, notes=Notes())
    assert found is not None and found.index.options.analyzer == "cjk"


def desk(shelf: Any, *choices: PipelineChoice) -> Service:
    store = ServedStore("postgres:/secret/shelf.toml", shelf)
    chosen = choices or (PipelineChoice("lexical"), PipelineChoice("bm25"))
    engine = Engine(chosen, None, assignments=SET, notes=Notes(), store=store)
    engine.load()
    return opened(engine)


def asked(service: Service, *requests: tuple[str, str, Any]) -> list[Reply]:
    async def talk(ask: Ask) -> list[Reply]:
        return [await ask(method, path, value) for method, path, value in requests]

    return answers(service, talk)  # type: ignore[no-any-return]


def test_a_search_shows_passages_of_the_stores_texts_and_its_metadata(shelf: Shelf) -> None:
    (reply,) = asked(desk(shelf), ("POST", "/search", {"query": "fox", "k": 5, "show": ["year", "author"]}))
    assert reply.status == 200, reply.json
    (result,) = reply.json["results"]
    assert (result["doc_id"], result["title"], result["metadata"]) == ("fox", "The fox", {"year": 1999})
    assert all(FOX[one["start"] : one["end"]] == one["text"] for one in result["passages"])
    assert "fox" in result["passages"][0]["text"].lower()
    assert (result["n_characters"], result["first_stage"]) == (len(FOX), 1.0)
    assert reply.json["index"] == "shelf"
    assert shelf.asked == [("fox", 100)]
    assert reply.json["command"].startswith("longrank search postgres:/secret/shelf.toml fox")


def test_a_pipeline_without_a_scorer_keeps_the_stores_ranking_and_nothing_found_is_no_error(shelf: Shelf) -> None:
    ranked, nothing = asked(
        desk(shelf),
        ("POST", "/search", {"query": "all", "pipeline": "bm25"}),
        ("POST", "/search", {"query": "zebra"}),
    )
    assert [(one["doc_id"], one["score"]) for one in ranked.json["results"]] == [("fox", 2.0), ("far", 1.0)]
    assert (nothing.status, nothing.json["results"]) == (200, [])


@pytest.mark.parametrize(
    ("pipeline", "stage"),
    [
        ("rm3", "BM25, k1 = 0.9, b = 0.4, rm3"),
        pytest.param("hybrid", "BM25, k1 = 0.9, b = 0.4 fused with dense passages", marks=pytest.mark.neural),
    ],
)
def test_a_first_stage_of_the_pipeline_with_feedback_or_vectors_is_noted(
    shelf: Shelf, pipeline: str, stage: str
) -> None:
    notes = Notes()
    pipeline_of_candidates(shelf, "fox", load_pipeline(pipeline), k=2, notes=notes)
    (said,) = notes.lines()
    assert said.startswith(f"the store finds the candidates, not the pipeline's first stage ({stage}")


def test_documents_and_facts_come_from_the_store(shelf: Shelf) -> None:
    whole, lost, info = asked(
        desk(shelf), ("GET", "/document?id=fox", None), ("GET", "/document?id=lost", None), ("GET", "/info", None)
    )
    assert (whole.json["title"], whole.json["text"]) == ("The fox", FOX)
    assert lost.status == 404
    assert info.json["index"] == {"name": "shelf", "digest": None, "n_docs": None, "fields": [], "example": ""}
    assert [(one["name"], one["first_stage"], one["searches"]) for one in info.json["pipelines"]] == [
        ("lexical", "postgres", True),
        ("bm25", "postgres", True),
    ]


def test_a_document_of_another_id_is_not_what_was_asked_for(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "documents", lambda doc_ids, notes: [TEXTS["far"], TEXTS["fox"]])
    store = ServedStore("postgres:/secret/shelf.toml", shelf)
    assert store.document("fox").doc_id == "fox"
    with pytest.raises(Refusal, match="no such document"):
        store.document("007")


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    logger = logging.getLogger("longrank.service.served_store")
    monkeypatch.setattr(logger, "warning", lambda message, *values: lines.append(message % values))
    return lines


def test_an_id_of_several_texts_is_not_found(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    error = SeveralTexts("the store has several texts with this id", path="shelf.toml", got="fox")
    monkeypatch.setattr(shelf, "documents", Mock(side_effect=error))
    with pytest.raises(Refusal, match="several texts") as refused:
        ServedStore("postgres:/secret/shelf.toml", shelf).document("fox")
    assert refused.value.status == 404


def test_remarks_of_the_store_are_warnings_of_the_search_and_logged_with_their_places(
    shelf: Shelf, logged: list[str]
) -> None:
    async def talk(ask: Ask) -> list[Reply]:
        replies = []
        for shelf.in_part in (False, True):
            replies += [await ask("POST", "/search", {"query": query}) for query in ("fox", "zebra")]
        return [*replies, *[await ask("GET", f"/document?id={doc_id}", None) for doc_id in ("lost", "fox")]]

    *searches, lost, fox = answers(desk(shelf), talk)
    assert [reply.json["warnings"] for reply in searches] == [[], [], *[["queries answered in part: 1"]] * 2]
    assert logged == ["the store: queries answered in part: 1 (first: postgresql:host/db)"] * 4
    assert (lost.status, fox.status) == (502, 200)  # a document that is not in a part of the answer may be in the store


def test_a_store_that_does_not_answer_is_a_bad_gateway_whose_cause_is_logged(shelf: Shelf, logged: list[str]) -> None:
    service = desk(shelf)
    shelf.gone = True
    found, whole = asked(service, ("POST", "/search", {"query": "fox"}), ("GET", "/document?id=fox", None))
    for reply in (found, whole):
        assert reply.status == 502
        assert reply.json["message"] == "the store does not answer; the server's log says why"
    assert logged == ["the store does not answer: shelf.toml: cannot connect; see `url`"] * 2


@pytest.mark.parametrize("field", [{"filter": {"year": 1999}}, {"facets": ["year"]}, {"lang": "de"}])
def test_what_a_store_cannot_do_is_refused(shelf: Shelf, field: dict[str, Any]) -> None:
    (reply,) = asked(desk(shelf), ("POST", "/search", {"query": "fox", **field}))
    assert reply.status == 422
    assert "a store takes no filter, facets or language" in reply.json["message"]


@pytest.mark.neural
def test_searches_share_the_loaded_model(shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = desk(shelf, PipelineChoice("maxp", str(save_cross_encoder(tmp_path / "model"))))
    monkeypatch.setattr("longrank.scoring.find_model", None)  # a second loading would fail
    first, again = asked(service, *[("POST", "/search", {"query": "all"})] * 2)
    assert first.status == 200, first.json
    assert len(first.json["results"]) == 2
    scores = [[one["score"] for one in reply.json["results"]] for reply in (first, again)]
    assert scores[0] == pytest.approx(scores[1])


def test_options_of_an_index_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "qdrant:pages.toml", "--files", str(tmp_path)]) == 2
    assert "a store is only searched" in capsys.readouterr().err
    assert main(["serve", f"postgres:{tmp_path}/lost.toml"]) == 2
    assert "lost.toml: no such file" in capsys.readouterr().err
