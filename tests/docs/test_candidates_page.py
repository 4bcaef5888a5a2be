"""The settings and commands of docs/candidates.md work as they stand there."""

from __future__ import annotations

import gc
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_docs import ROOT, blocks

from longrank.cli.main import main
from postgresql_server import PASSWORD, running
from search_engine_server import serving

PAGE = ROOT / "docs" / "candidates.md"
POSTGRES, SQL, QDRANT, ENGINE, REQUEST = blocks(PAGE, "toml")
ROWS = [
    (1, "Tides", "The tide of the bay is high at noon.", 1930),
    (2, "Fog", "Fog hides the lights of the coast.", 1947),
]
COLUMNS = ("id", "title", "body", "year")


def indented(start: str) -> str:
    """Return the indented block of the page that begins with a text."""
    (block,) = [block for block in re.findall(r"(?:^    .*\n)+", PAGE.read_text(), re.MULTILINE) if start in block]
    return block


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    psycopg = pytest.importorskip("psycopg", reason="needs the extra postgres")
    with running() as url:
        with psycopg.connect(url, password=PASSWORD) as connection:
            connection.execute("CREATE TABLE pages (id integer, title text, body text, year integer)")
            connection.cursor().executemany("INSERT INTO pages VALUES (%s, %s, %s, %s)", ROWS)
            connection.execute(indented("ALTER TABLE").partition("--")[0])
        yield url


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "topics.jsonl").write_text('{"query_id": "1", "text": "lights of the coast"}\n')
    return tmp_path


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="printed scores are those of one Python version")
def test_the_commands_of_the_page_search_and_rerank_postgresql(
    server: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    (folder / "library.toml").write_text(re.sub('url = ".*"', f'url = "{server}"', POSTGRES))
    search, retrieve, rerank, _ = indented("longrank search postgres").splitlines()
    assert main(shlex.split(search)[1:]) == 0
    assert capsys.readouterr().out.rstrip() == blocks(PAGE, "text")[0].rstrip()
    assert main(shlex.split(retrieve)[1:]) == 0
    assert main([*shlex.split(rerank)[1:], "--pipeline", "lexical"]) == 0
    assert "1 Q0 2 1" in (folder / "reranked.run").read_text()


def test_the_sql_of_the_page_finds_and_reranks(server: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    (folder / "library.toml").write_text(re.sub('url = ".*"', f'url = "{server}"', SQL))
    assert main(["retrieve", "postgres:library.toml", "topics.jsonl", "-o", "first.run"]) == 0
    assert "1 Q0 2 1" in (folder / "first.run").read_text()
    command = ["rerank", "postgres:library.toml", "topics.jsonl", "first.run", "-o", "r.run", "--pipeline", "lexical"]
    assert main(command) == 0


@pytest.mark.parametrize("settings", [ENGINE, REQUEST])
@pytest.mark.parametrize("engine", ["opensearch", "elasticsearch"])
def test_the_settings_of_search_engines_are_accepted(settings: str, engine: str, folder: Path) -> None:
    pytest.importorskip({"opensearch": "opensearchpy"}.get(engine, engine), reason=f"needs the extra {engine}")
    (folder / "password").write_text("s3cret")
    with serving({str(row[0]): dict(zip(COLUMNS, row, strict=True)) for row in ROWS}) as running_engine:
        (folder / "pages.toml").write_text(re.sub('url = ".*"', f'url = "{running_engine.url}"', settings))
        code = main(["retrieve", f"{engine}:pages.toml", "topics.jsonl", "-o", "first.run"])
        (request,) = running_engine.requests
    if settings == ENGINE:
        assert code == 0
        assert request["query"]["multi_match"]["fields"] == ["title^2", "body"]
    else:  # the small server does not know this query
        assert code == 2
        assert request["query"]["bool"]["must"] == [{"match": {"body": "lights of the coast"}}]
        assert request["query"]["bool"]["filter"] == [{"range": {"year": {"gt": 1940}}}]


@pytest.mark.neural
@pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")  # of the client, told by Python 3.13 and later
def test_the_settings_of_qdrant_find_the_nearest_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    qdrant_client = pytest.importorskip("qdrant_client", reason="needs the extra qdrant")
    from qdrant_client import models

    from longrank.networks.model_files import find_model
    from longrank.scoring.bi_encoder import BiEncoder
    from longrank.types import Query

    encoder = BiEncoder(find_model("minilm"))
    client = qdrant_client.QdrantClient(path=str(folder / "qdrant"))
    vectors = models.VectorParams(size=384, distance=models.Distance.COSINE)
    client.create_collection("pages", vectors_config=vectors)
    for number, title, body, _ in ROWS:
        vector = encoder.query_vector(Query("q", body)).tolist()
        payload = {"doc_id": f"page-{number}", "title": title, "text": body}
        client.upsert("pages", [models.PointStruct(id=number, vector=vector, payload=payload)])
    client.close()
    gc.collect()
    (folder / "pages.toml").write_text(QDRANT)
    assert main(["search", "qdrant:pages.toml", "lamps at the sea in mist", "--pipeline", "bm25", "-k", "1"]) == 0
    assert "[page-2]" in capsys.readouterr().out
