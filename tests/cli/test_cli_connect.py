"""search --connect asks a running server, and prints the table that a search in this process prints."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from longrank.cli.main import main
from longrank.index import Index
from longrank.service.engine import Engine
from longrank.service.served import PipelineChoice
from longrank.service.settings import ServiceSettings
from longrank.types import Notes
from served import answers, opened

FILLER = "moon tide chain wheel light house bread stone river salt"
ROWS = [
    {"id": "d", "title": "A title", "text": f"{FILLER} the fox {FILLER} foxes: the Fox's FOX. {FILLER}", "year": 2020},
    {"id": "e", "title": "", "text": f"a fox & a moon. {FILLER}", "year": 2024, "page_starts": [0, 20]},
    {"id": "f", "title": "Nothing", "text": FILLER, "year": 1999},
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("connect") / "animals.index"
    Index.build(ROWS, folder)
    return folder


@pytest.fixture(scope="module")
def engine(index: Path) -> Engine:
    engine = Engine([PipelineChoice("lexical"), PipelineChoice("bm25")], Index(index), notes=Notes())
    engine.load()
    return engine


class Server:
    """A plain HTTP server in a thread that answers with the real application, or as it is told."""

    def __init__(self, engine: Engine, key: str | None) -> None:
        self.answer: tuple[int, bytes] | None = None
        self.asked: list[dict[str, Any]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.asked.append(json.loads(body))
                status, content = outer.answer or self.of_application(body)
                self.send_response(status)
                self.send_header("Location", "http://127.0.0.1:9/")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def of_application(self, body: bytes) -> tuple[int, bytes]:
                sent = {name: value for name, value in self.headers.items() if name.lower() == "authorization"}

                async def talk(ask: Any) -> Any:
                    return await ask("POST", self.path, body, sent)

                reply = answers(opened(engine, ServiceSettings(key=key)), talk)
                return reply.status, reply.body

            def log_message(self, *_: Any) -> None:
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever)
        self.thread.start()

    def close(self) -> None:
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


@pytest.fixture
def server(engine: Engine, request: pytest.FixtureRequest) -> Iterator[Server]:
    server = Server(engine, getattr(request, "param", None))
    yield server
    server.close()


@pytest.mark.parametrize(
    "options",
    [
        ["--pipeline", "lexical", "--show", "year"],
        ["--pipeline", "bm25", "-k", "1"],
        ["--pipeline", "lexical", "--where", "year>=2024", "--passages", "1"],
        ["--pipeline", "lexical", "--filter", '{"year": {"$lt": 2024}}', "--where", "year in 2020,2024"],
        ["--pipeline", "lexical", "--json", "--show", "year"],
    ],
)
def test_the_table_is_that_of_a_search_here(
    index: Path, server: Server, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["search", str(index), "fox", *options]
    assert main(command) == 0
    here = capsys.readouterr().out
    assert main([*command, "--connect", server.url]) == 0
    assert capsys.readouterr().out == here
    assert "score" in here


def test_the_pipeline_that_answered_is_named(index: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", str(index), "fox", "--connect", server.url, "--deadline", "5"]) == 0
    assert f"pipeline lexical of {server.url}" in capsys.readouterr().err
    assert server.asked[0]["deadline"] == 5.0


@pytest.mark.parametrize("server", ["secret"], indirect=True)
def test_the_key_comes_from_the_environment(
    index: Path, server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["search", str(index), "fox", "--connect", server.url]
    monkeypatch.delenv("LONGRANK_API_KEY", raising=False)
    assert main(command) == 2
    assert "refuses the key; set LONGRANK_API_KEY" in capsys.readouterr().err
    monkeypatch.setenv("LONGRANK_API_KEY", "secret")
    assert main(command) == 0
    assert "secret" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "minilm"], "--model cannot be combined with --connect"),
        (["--set", "final.depth=5"], "--set cannot be combined with --connect"),
        (["--pipeline", "maxp"], "/pipeline: unknown pipeline 'maxp'"),
        (["-k", "1000"], "/k: "),
    ],
)
def test_what_the_server_cannot_do_is_refused(
    index: Path, server: Server, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", str(index), "fox", "--connect", server.url, *options]) == 2
    assert message in capsys.readouterr().err


def test_a_server_of_another_index_is_refused(
    server: Server, engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", str(tmp_path / "other.index"), "fox", "--connect", server.url]) == 2
    assert f"/index: no such index; this server has '{engine.index_name}'" in capsys.readouterr().err


def answer_with(score: object = 1.0, words: object = ()) -> bytes:
    passage = {"index": 0, "start": 0, "end": 3, "score": 1.0, "text": "fox", "words": words, "highlights": []}
    counts = {"n_passages": 1, "n_scored": 1, "n_truncated": 0, "first_stage": 1.0, "aggregate": 1.0, "metadata": {}}
    result = {"rank": 1, "doc_id": "d", "title": "", "score": score, "passages": [passage], **counts}
    answer = {"query": "fox", "pipeline": "bm25", "results": [result], "partial": None, "warnings": []}
    return json.dumps(answer).encode()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((302, b""), "answers with status 302"),
        ((503, b'{"code": "not_ready", "message": "models are loading"}'), "status 503: models are loading"),
        ((200, b"<html>"), "answers with status 200"),
        ((200, b'{"results": [{}], "partial": null, "warnings": []}'), "does not answer as a LongRank server"),
        ((200, answer_with(score="high")), "does not answer as a LongRank server of this version (0.score: "),
        ((200, answer_with(words=[[1]])), "(0.passages.0.words.0"),
        ((200, answer_with(score=float("nan"))), "answers with status 200"),
        ((200, b"[" * 100_000), "answers with status 200"),
    ],
)
def test_other_answers_are_told(
    index: Path, server: Server, answer: tuple[int, bytes], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server.answer = answer
    assert main(["search", str(index), "fox", "--connect", server.url]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("url", "code", "message"),
    [
        ("localhost:8330", 2, "begins with http:// or https://"),
        ("file:///etc/passwd", 2, "begins with http:// or https://"),
        ("http://127.0.0.1:99999", 2, "is no address of a server: Port out of range 0-65535"),
        ("http://[::1", 2, "is no address of a server: Invalid IPv6 URL"),
        ("http://exa mple", 2, "is no address of a server: URL can't contain control characters"),
        (f"http://{'a' * 64}.example", 1, "no answer from http://aaaa"),
        ("http://127.0.0.1:9", 1, "no answer from http://127.0.0.1:9"),
    ],
)
def test_addresses_without_a_server_are_told(
    index: Path, url: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", str(index), "fox", "--connect", url]) == code
    assert message in capsys.readouterr().err


def test_a_key_that_no_header_can_hold_is_refused(
    index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for key in ("clé€", "a\nb"):
        monkeypatch.setenv("LONGRANK_API_KEY", key)
        assert main(["search", str(index), "fox", "--connect", "http://127.0.0.1:9"]) == 2
        assert "the key of a server is printable ASCII; correct LONGRANK_API_KEY" in capsys.readouterr().err
