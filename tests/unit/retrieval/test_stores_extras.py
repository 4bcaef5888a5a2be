"""A store whose client is not installed, or that no one has heard of, is an error of one line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from longrank import rerank, retrieve, search
from longrank.cli.main import main
from longrank.errors import InputError, MissingExtra
from longrank.retrieval.stores import STORES, is_store, open_store

CLIENTS = {
    "postgres": "psycopg.sql",
    "opensearch": "opensearchpy",
    "elasticsearch": "elasticsearch",
    "qdrant": "qdrant_client",
}


@pytest.mark.parametrize("name", list(STORES))
def test_a_missing_client_names_its_extra(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, CLIENTS[name], None)
    (tmp_path / "store.toml").write_text("")
    with pytest.raises(MissingExtra, match=rf"needs the extra '{name}'; pip install '\.\[{name}\]'"):
        open_store(f"{name}:{tmp_path / 'store.toml'}")


def test_the_settings_of_a_store_are_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings, queries = tmp_path / "store.toml", tmp_path / "queries.tsv"
    settings.write_text('url = "http://localhost:9"')
    queries.write_text("1\tfox\n")
    assert main(["retrieve", f"opensearch:{settings}", str(queries), "-o", str(settings)]) == 2
    assert "store.toml: is also an input and would be overwritten" in capsys.readouterr().err
    assert settings.read_text() == 'url = "http://localhost:9"'


def test_a_store_takes_no_language(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(STORES, "opensearch", lambda *_, **__: None)  # type: ignore[arg-type, return-value]
    settings, queries = tmp_path / "store.toml", tmp_path / "queries.tsv"
    settings.write_text("")
    queries.write_text("1\tfox\n")
    source = f"opensearch:{settings}"
    assert main(["retrieve", source, str(queries), "-o", str(tmp_path / "run"), "--lang", "de"]) == 2
    assert "a language needs a LongRank index (got 'opensearch:" in capsys.readouterr().err
    with pytest.raises(InputError, match="a language needs a LongRank index"):
        search(source, "fox", pipeline="lexical", lang="de")
    with pytest.raises(InputError, match="a language needs a LongRank index"):
        retrieve(source, ["fox"], lang="de")
    with pytest.raises(InputError, match="a language needs a LongRank index"):
        rerank(source, ["fox"], {"1": {"d": 1.0}}, pipeline="lexical", lang="de")


def test_only_known_stores_are_stores(tmp_path: Path) -> None:
    assert is_store("postgres:x.toml")
    assert is_store(Path("qdrant:x.toml"))
    assert not any(map(is_store, ("mysql:x.toml", "postgres", "lucene:x", "C:/x.index", tmp_path, None, 3)))
    with pytest.raises(InputError, match="is not valid TOML"):
        (tmp_path / "store.toml").write_text("= 1")
        open_store(f"postgres:{tmp_path / 'store.toml'}")
