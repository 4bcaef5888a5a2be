"""Searches over HTTP restrict documents by metadata, show it and count it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from longrank.cli.main import main
from longrank.index import Index
from longrank.ranking.passages import FEW_BLANKS, PassageDocumentScorer
from longrank.service.engine import Engine
from longrank.service.rerank import Service
from longrank.service.served import PipelineChoice
from longrank.types import Notes
from served import Ask, Reply, answers, ask_once, opened

ROWS = [
    {"id": f"d{n}", "text": "the fox and the moon" if n % 2 else "a fox", "year": 2000 + n % 4, "by": f"a{n}"}
    for n in range(12)
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    index = Index.build(ROWS, tmp_path_factory.mktemp("served") / "index")
    engine = Engine((PipelineChoice("lexical"), PipelineChoice("bm25")), index, notes=Notes())
    engine.load()
    return engine


def asked(engine: Engine, value: dict[str, Any]) -> Reply:
    async def talk(ask: Ask) -> Reply:
        return await ask("POST", "/search", value)

    desk: Service = opened(engine)
    return answers(desk, talk)


@pytest.mark.parametrize("pipeline", ["lexical", "bm25"])
def test_a_search_takes_filter_show_and_facets(
    engine: Engine, pipeline: str, capsys: pytest.CaptureFixture[str]
) -> None:
    value = {"query": "fox", "pipeline": pipeline, "k": 5, "passages": 1, "facets": ["year"], "show": ["by"]}
    reply = asked(engine, {**value, "filter": {"year": {"$in": [2001, 2002]}}}).json
    assert reply["facets"] == {"year": [{"value": 2001, "count": 3}, {"value": 2002, "count": 3}]}
    found = [result["doc_id"] for result in reply["results"]]
    assert len(found) == 5
    assert all(int(doc_id[1:]) % 4 in (1, 2) for doc_id in found)
    assert [result["metadata"] for result in reply["results"]] == [{"by": f"a{doc_id[1:]}"} for doc_id in found]
    assert main(["search", "--json", *shlex.split(reply["command"])[2:]]) == 0
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["doc_id"], one["metadata"]) for one in printed] == [
        (one["doc_id"], one["metadata"]) for one in reply["results"]
    ]


def test_a_search_without_them_shows_and_counts_nothing(engine: Engine) -> None:
    reply = asked(engine, {"query": "fox"}).json
    assert reply["facets"] == {}
    assert all(result["metadata"] == {} for result in reply["results"])
    assert "--filter" not in reply["command"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"filter": {"yaer": 1}}, "/filter/yaer: no document has this field (got 'yaer'); did you mean 'year'?"),
        ({"filter": {"year": {"$gtt": 1}}}, "/filter/year/$gtt: unknown operator"),
        ({"filter": {"year": "2001"}}, "/filter/year: no document has such a value"),
        ({"filter": ["year"]}, "/filter"),
        ({"show": ["yaer"]}, "no document has this field"),
        ({"facets": ["yaer"]}, "no document has this field"),
        ({"facets": [""]}, "/facets/0"),
        ({"show": ["year"] * 101}, "/show"),
    ],
)
def test_wrong_filters_and_fields_are_refused(engine: Engine, value: dict[str, Any], message: str) -> None:
    reply = asked(engine, {"query": "fox", **value})
    assert reply.status == 422
    assert reply.json["message"].startswith(message)


def test_an_index_without_metadata_takes_no_filter(tmp_path: Path) -> None:
    engine = Engine((PipelineChoice("bm25"),), Index.build([("a", "fox")], tmp_path / "index"), notes=Notes())
    engine.load()
    reply = asked(engine, {"query": "fox", "filter": {"year": 1}})
    assert reply.status == 422
    assert reply.json["message"].startswith("the index holds no metadata; no document has other fields")  # and no path
    for names in ({"show": ["year"]}, {"facets": ["year"]}):
        assert asked(engine, {"query": "fox", **names}).json["message"] == reply.json["message"]
    assert asked(engine, {"query": "fox"}).status == 200


@pytest.mark.parametrize("pipeline", ["lexical", "bm25"])
def test_a_search_takes_a_language(tmp_path: Path, pipeline: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("Stemmer", reason="needs the extra languages")
    rows = [
        {"id": "en", "text": "The runners were running.", "lang": "en"},
        {"id": "de", "text": "running gag", "lang": "de"},
    ]
    index = Index.build(rows, tmp_path / "index", analyzer_field="lang")
    engine = Engine((PipelineChoice(pipeline),), index, notes=Notes())
    engine.load()
    for lang, doc_ids in ((None, ["de", "en"]), ("de", ["de"]), ("en", ["en"])):
        reply = asked(engine, {"query": "running", "lang": lang, "facets": ["lang"]}).json
        assert sorted(result["doc_id"] for result in reply["results"]) == doc_ids
        assert sorted(value["value"] for value in reply["facets"]["lang"]) == doc_ids
        assert main(["search", "--json", *shlex.split(reply["command"])[2:]]) == 0
        assert [json.loads(line)["doc_id"] for line in capsys.readouterr().out.splitlines()] == [
            result["doc_id"] for result in reply["results"]
        ]
    polish = asked(engine, {"query": "running", "lang": "pl"}).json
    assert polish["warnings"] == ["'pl' has no analyzer: queries are read as plain words"]
    assert "unknown language" in str(asked(engine, {"query": "running", "lang": "klingon"}).json)


@pytest.mark.parametrize("pipeline", ["lexical", "bm25"])
def test_a_search_says_what_is_remarked_on_its_query_and_on_no_other(engine: Engine, pipeline: str) -> None:
    remark = "queries without terms after analysis: 1"
    assert [
        asked(engine, {"query": query, "pipeline": pipeline}).json["warnings"] for query in ("the of", "fox", "the of")
    ] == [[remark], [], [remark]]


def test_a_search_says_that_the_scorer_cuts_the_query(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PassageDocumentScorer, "cuts_query", lambda self, query: "moon" in query)
    warnings = [asked(engine, {"query": query, "deadline": 9}).json["warnings"] for query in ("fox", "fox moon")]
    assert warnings == [[], ["queries cut at the scorer's limit: 1"]]
    assert asked(engine, {"query": "fox moon", "pipeline": "bm25"}).json["warnings"] == []


def test_remarks_on_texts_are_warnings_of_each_answer(tmp_path: Path) -> None:
    rows = [("zh", "面包在烤箱里慢慢变成金黄色。" * 100 + " fox"), ("e", "moon")]
    engine = Engine((PipelineChoice("lexical"),), Index.build(rows, tmp_path / "index"), notes=(loaded := Notes()))
    engine.load()
    desk = opened(engine)
    for _ in range(2):
        reply = ask_once(desk, "POST", "/search", {"query": "fox"})
        assert reply.json["warnings"] == [f"{FEW_BLANKS}: 1"]
        reply = ask_once(desk, "POST", "/v1/rerank", {"query": "fox", "documents": [text for _, text in rows]})
        assert reply.json["meta"]["warnings"] == [f"{FEW_BLANKS}: 1"]
    assert not loaded[FEW_BLANKS]
