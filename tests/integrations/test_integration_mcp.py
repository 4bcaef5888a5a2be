"""The MCP server, asked by the official client: in this process, and over the pipes of `longrank mcp`."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

import anyio
from mcp import Client, StdioServerParameters, stdio_client

import longrank
from longrank.cli.main import main
from longrank.index import Index
from longrank.integrations import mcp as mcp_server
from longrank.integrations.mcp import make_server
from longrank.types import Notes


def asked(index: str, talk: Callable[[Client], Coroutine[Any, Any, Any]]) -> Any:
    async def session() -> Any:
        async with Client(make_server(index, pipeline="lexical")) as client:
            return await talk(client)

    return anyio.run(session)


def called(index: str, tool: str, **arguments: Any) -> Any:
    return asked(index, lambda client: client.call_tool(tool, arguments))


def test_the_tools_say_what_they_take(index: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", index, "--pipeline", "lexical", "--schema"]) == 0
    tools = {tool["function"]["name"]: tool["function"] for tool in json.loads(capsys.readouterr().out)}
    assert list(tools) == ["search", "read_document", "read_around"]
    assert tools["search"]["parameters"]["required"] == ["query"]
    assert tools["read_around"]["parameters"]["properties"]["start"]["minimum"] == 0


def test_a_search_returns_what_longrank_finds(index: str) -> None:
    opened = Index.open(index)
    words = " ".join(opened.document(opened.doc_id(0)).text.split()[:6])
    found = called(index, "search", query=words, k=2, passages=1).structured_content["documents"]
    expected = longrank.search(index, words, pipeline="lexical", k=2, passages=1)
    assert [one["doc_id"] for one in found] == [one.doc_id for one in expected]
    for one, same in zip(found, expected, strict=True):
        (passage,) = one["passages"]
        assert (passage["start"], passage["score"]) == (same.passages[0].start, same.passages[0].score)
        assert opened.document(one["doc_id"]).text[passage["start"] : passage["end"]] == passage["text"]
        assert passage["sentence"] in passage["text"]


def test_a_document_is_read_in_parts(index: str) -> None:
    opened = Index.open(index)
    doc_id = opened.doc_id(1)
    text, parts, start = opened.document(doc_id).text, [], 0
    while start < len(text):
        part = called(index, "read_document", doc_id=doc_id, start=start, characters=40).structured_content
        assert (part["start"], part["n_characters"]) == (start, len(text))
        parts.append(part["text"])
        start = part["end"]
    assert "".join(parts) == text


def test_the_text_around_a_passage(index: str) -> None:
    opened = Index.open(index)
    doc_id = opened.doc_id(1)
    text = opened.document(doc_id).text
    part = called(index, "read_around", doc_id=doc_id, start=30, end=50, characters=10).structured_content
    assert (part["start"], part["end"], part["text"]) == (20, 60, text[20:60])


def test_the_tools_follow_a_changed_index(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "index"
    index = Index.build([("d1", "Dogs bark."), ("d2", "Cats purr.")], folder)

    async def talk(client: Client) -> list[Any]:
        found = []
        for change in (lambda: None, lambda: index.add([("d3", "A zebra.")]), (folder / "manifest.json").unlink):
            change()
            answer = await client.call_tool("search", {"query": "zebra"})
            found.append([one["doc_id"] for one in answer.structured_content["documents"]])
        return found

    assert asked(str(folder), talk) == [[], ["d3"], ["d3"]]
    assert "the old state stays in use" in caplog.text


def test_an_index_that_could_not_be_opened_is_tried_again_and_the_answer_says_so(tmp_path: Path) -> None:
    folder, other = tmp_path / "index", tmp_path / "other"
    Index.build([("d1", "A zebra.")], folder)
    Index.build([("d2", "A zebra.")], other)

    def copy_the_data() -> None:
        for part in other.glob("data-*"):
            shutil.copytree(part, folder / part.name)

    async def talk(client: Client) -> list[Any]:
        found = []
        manifest = partial(shutil.copy, other / "manifest.json", folder / "manifest.json")
        for change in (lambda: None, manifest, copy_the_data):
            change()
            answer = (await client.call_tool("search", {"query": "zebra"})).structured_content
            part = await client.call_tool("read_document", {"doc_id": answer["documents"][0]["doc_id"]})
            assert part.structured_content["digest"] == answer["digest"]
            found.append(([one["doc_id"] for one in answer["documents"]], answer["digest"], answer["warnings"]))
        return found

    old = Index.open(str(folder)).digest
    first, half, whole = asked(str(folder), talk)
    assert first == (["d1"], old, [])
    assert half[:2] == (["d1"], old)
    assert "the old state stays in use" in half[2][0]
    assert whole == (["d2"], Index.open(str(other)).digest, [])


def test_any_failure_of_opening_leaves_the_old_state_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "index"
    index = Index.build([("d1", "A zebra.")], folder)

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(errno.EMFILE, "too many open files")

    async def talk(client: Client) -> Any:
        index.add([("d2", "No zebra.")])
        with monkeypatch.context() as patch:
            patch.setattr(mcp_server, "open_pipeline", fail)
            return (await client.call_tool("search", {"query": "zebra"})).structured_content

    answer = asked(str(folder), talk)
    assert [one["doc_id"] for one in answer["documents"]] == ["d1"]
    assert "too many open files" in answer["warnings"][0]


def test_remarks_of_opening_and_searching_are_in_the_answer(index: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, searched = mcp_server.open_pipeline, mcp_server.run_search

    def open_with_remark(*args: Any, notes: Notes, **options: Any) -> Any:
        notes.say("another model stands in")
        return opened(*args, notes=notes, **options)

    def search_with_remark(*args: Any, **options: Any) -> Any:
        results = searched(*args, **options)
        results.notes.say("3 passages were cut")
        return results

    monkeypatch.setattr(mcp_server, "open_pipeline", open_with_remark)
    monkeypatch.setattr(mcp_server, "run_search", search_with_remark)
    answer = called(index, "search", query="storm").structured_content
    assert answer["warnings"] == ["another model stands in", "3 passages were cut"]


def test_passages_that_were_not_scored_are_told(index: str) -> None:
    server = make_server(index, pipeline="lexical", assignments=["select.name=first", "select.n=1"])

    async def session() -> Any:
        async with Client(server) as client:
            return await client.call_tool("search", {"query": "hurricanes"})

    assert anyio.run(session).structured_content["warnings"] == [
        "passages not scored (cap or selection): 20 (first: document long)"
    ]


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("read_document", {"doc_id": "none"}, "no document has the id 'none'"),
        ("read_document", {"doc_id": "", "start": -1}, "greater than or equal to 0"),
        ("read_around", {"doc_id": "none", "start": 9, "end": 3}, "end 3 lies before start 9"),
        ("search", {"query": ""}, "at least 1 character"),
        ("search", {"query": "x", "k": 51}, "less than or equal to 50"),
        ("search", {"query": "x", "top_k": 9}, "search takes no argument 'top_k'; it takes: query, k, passages"),
    ],
)
def test_wrong_arguments_are_answered(index: str, tool: str, arguments: dict[str, Any], message: str) -> None:
    result = called(index, tool, **arguments)
    assert result.is_error
    assert message in result.content[0].text


@pytest.mark.parametrize("tool", ["read_document", "read_around"])
def test_a_start_beyond_the_end_names_the_end(index: str, tool: str) -> None:
    opened = Index.open(index)
    doc_id = opened.doc_id(0)
    start = len(opened.document(doc_id).text) + 1
    result = called(index, tool, doc_id=doc_id, start=start, **{"end": start} if tool == "read_around" else {})
    assert result.is_error
    assert f"beyond the document's end, {start - 1}" in result.content[0].text


def test_the_command_speaks_over_its_pipes(index: str) -> None:
    command = ["-m", "longrank", "mcp", index, "--pipeline", "lexical"]
    server = stdio_client(StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ)))

    async def session() -> list[str]:
        async with Client(server) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert anyio.run(session) == ["search", "read_document", "read_around"]


def test_an_index_that_is_missing_is_one_line(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", str(tmp_path / "none")]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
