"""serve: what is refused before anything listens, and a whole life of a server, by the documented command line."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from fakes import documents, index_of
from http_server import running
from longrank.cli.main import main
from longrank.service.settings import ServiceSettings
from tiny_models import save_cross_encoder

KEY = "never-shown-anywhere"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("serve")
    index_of(documents(20, words=60), folder / "index")
    return folder / "index"


def command(*arguments: object) -> tuple[str, ...]:
    return (sys.executable, "-m", "longrank", "serve", *map(str, arguments))


def test_help_states_the_defaults_that_hold(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGRANK_API_KEY", KEY)
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["serve", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    settings = ServiceSettings()
    for option, value in (
        ("--host", settings.host),
        ("--port", settings.port),
        ("--max-requests", settings.max_requests),
        ("--max-tokens", settings.max_tokens),
        ("--max-body", settings.max_body_bytes),
        ("--max-documents", settings.max_documents),
        ("--deadline", f"{settings.deadline:g}"),
    ):
        found = re.search(rf"{option} .*?\[default: ([^\]]*)\]", shown)
        assert found, option
        assert found[1] == str(value)
    assert "Example: longrank serve" in shown
    assert KEY not in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no index to serve; use either INDEX or --rerank-only"),
        (["INDEX", "--rerank-only"], "--rerank-only takes no index"),
        (["no/such/index"], "no/such/index: "),
        (["INDEX", "--pipeline", "lexicle"], "did you mean 'lexical'?"),
        (["INDEX", "--pipeline", "bm25=no/such/model"], "has no passage scorer, so it takes no model"),
        (["INDEX", "--pipeline", "maxp=./no/such/model"], "no such model folder"),
        (["INDEX", "--pipeline", "lexical", "--model", "x/y"], "no pipeline takes this model (got 'x/y')"),
        (["INDEX", "--pipeline", "lexical", "--pipeline", "lexical"], "a pipeline is named twice"),
        (["INDEX", "--set", "final.dept=3"], "did you mean"),
        (["--rerank-only", "--pipeline", "bm25"], "this pipeline has no passage scorer"),
        (
            ["INDEX", "--pipeline", "lexical", "--host", "0.0.0.0"],
            "other machines could use the server (got '0.0.0.0')",
        ),
        (["INDEX", "--pipeline", "lexical", "--host", "no-such-host.invalid"], "unknown host"),
        (["INDEX", "--pipeline", "lexical", "--host", "203.0.113.7", "--insecure"], "cannot listen: "),
        (["INDEX", "--pipeline", "lexical", "--port", "USED"], "cannot listen: Address already in use"),
        (["INDEX", "--key-file", "no/such/key"], "no/such/key: No such file or directory"),
        (["INDEX", "--max-requests", "0"], "--max-requests"),
        (["INDEX", "--deadline", "inf"], "--deadline"),
        (["INDEX", "--allow-host", "http://box"], "a name without scheme and port, or * (got 'http://box')"),
        (["INDEX", "--allow-host", "box:8330"], "a name without scheme and port, or * (got 'box:8330')"),
    ],
)
def test_what_cannot_be_served_is_one_line_before_anything_listens(
    arguments: list[str], message: str, index: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LONGRANK_API_KEY", raising=False)
    monkeypatch.setattr("longrank.service.server._Server", None)  # it must not come to that
    with socket.create_server(("127.0.0.1", 0)) as used:
        words = {"INDEX": str(index), "USED": str(used.getsockname()[1])}
        assert main(["serve", *(words.get(one, one) for one in arguments)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("longrank: error: ")
    assert message in shown.err
    assert shown.err.count("\n") == 1


def test_lexical_reranks_without_an_index(monkeypatch: pytest.MonkeyPatch) -> None:
    from longrank.service.engine import Engine

    def serve(engine: Engine, *_: object) -> int:
        engine.load()
        reranker = engine.served("lexical").reranker
        assert reranker is not None
        best, last = reranker.rank("wug", ["no such word", "the wug"])
        assert (best.index, last.score) == (1, 0)
        assert best.score > 0
        return 0

    monkeypatch.setattr("longrank.cli.serve._serve", serve)
    assert main(["serve", "--rerank-only", "--pipeline", "lexical"]) == 0


@pytest.mark.parametrize(("deadline", "drain"), [(100.0, 100.0), (1.0, 30.0)])
def test_what_a_long_deadline_promises_is_completed_at_the_end(
    deadline: float, drain: float, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def serve(app: object, settings: ServiceSettings, **_: object) -> int:
        seen.append((settings.deadline, settings.drain))
        return 0

    monkeypatch.setattr("longrank.service.server.serve", serve)
    monkeypatch.delenv("LONGRANK_API_KEY", raising=False)
    assert main(["serve", str(index), "--pipeline", "lexical", "--deadline", str(deadline)]) == 0
    assert seen == [(deadline, drain)]


@pytest.mark.parametrize("content", ["", "\n", f"{KEY} x", f"{KEY}\u00e9", f"{KEY}\n{KEY}"])
def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(
    content: str, index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LONGRANK_API_KEY", raising=False)
    (tmp_path / "key").write_text(content)
    assert main(["serve", str(index), "--key-file", str(tmp_path / "key")]) == 2
    of_file = capsys.readouterr().err
    monkeypatch.setenv("LONGRANK_API_KEY", content)
    assert main(["serve", str(index)]) == 2
    of_environment = capsys.readouterr().err
    assert "the key must be visible ASCII characters" in of_file
    assert "the key must be visible ASCII characters" in of_environment
    assert KEY not in of_file + of_environment


def test_a_server_lives_with_a_key_from_the_environment_and_ends_by_ctrl_c(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGRANK_API_KEY", KEY)
    arguments = command(
        index, "--pipeline", "lexical", "--pipeline", "bm25", "--port", 0, "--allow-host", "Box.Example"
    )
    with running(tmp_path, *arguments) as server:
        assert server.process.stdout is not None
        assert server.process.stdout.readline() == "ready\n"
        assert server.get("/ready").status == 200
        assert server.get("/").headers["content-type"].startswith("text/html")
        assert server.get("/info").status == 401
        answer = server.get("/info", f"Authorization: Bearer {KEY}", "Host: box.example:80")
        assert [one["name"] for one in answer.json["pipelines"]] == ["lexical", "bm25"]
        server.stop(signal.SIGINT)
        assert server.process.wait(60) == 0
        log = server.log.read_text()
    assert "GET /info 401 unauthorized" in log
    assert KEY not in log


@pytest.mark.neural
def test_without_an_index_texts_are_reranked_by_the_model_that_is_named(tmp_path: Path) -> None:
    save_cross_encoder(tmp_path / "model")
    with running(
        tmp_path, *command("--rerank-only", "--pipeline", "maxp", "--model", tmp_path / "model", "--port", 0)
    ) as server:
        assert server.process.stdout is not None
        assert server.process.stdout.readline() == "ready\n"
        answer = server.post("/v2/rerank", json.dumps({"query": "w1", "documents": ["w1 w2", "w3"]}).encode())
        assert (answer.status, len(answer.json["results"])) == (200, 2)
        server.stop()
        assert server.process.wait(60) == 0


@pytest.mark.neural
def test_a_model_that_only_fails_when_it_is_loaded_ends_the_server_with_one_line(tmp_path: Path, index: Path) -> None:
    model = tmp_path / "model"
    save_cross_encoder(model)
    (model / "tokenizer.json").write_text("{}")
    arguments = command(index, "--pipeline", "maxp", "--model", model, "--port", 0)
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("longrank: error: ")
    assert done.stderr.count("\n") == 1
