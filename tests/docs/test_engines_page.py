"""The requests of docs/engines.md, filled as the engines' documentation describes, are answered as the engines read.

Recorded, not run: neither OpenSearch nor Elasticsearch takes part.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from test_docs import ROOT, blocks

pytest.importorskip("fastapi", reason="needs the extra serve")

from longrank.service.settings import ServiceSettings
from served import Ask, answers, desk_of

PAGE = ROOT / "docs" / "engines.md"
QUERY = 'the "fox"\n\\ of Ä 🦀'
TEXTS = ["moon tide chain", "light house. " * 400 + 'A "fox"\tbarks \\ here.', "a fox & a fox of Ä", ""]
KEY = "k3y"


def requests() -> dict[str, Any]:
    """Return the bodies of the page's requests by their first lines."""
    return {block.splitlines()[0]: json.loads(block.partition("\n")[2]) for block in blocks(PAGE, "json")}


def asked(tmp_path: Path, url: str, headers: dict[str, str], body: str) -> tuple[int, Any]:
    desk = desk_of(tmp_path, settings=ServiceSettings(key=KEY, allowed_hosts=("longrank.example.org",)), indexed=True)
    sent = {"host": "longrank.example.org", "content-type": "application/json", **headers}

    async def talk(ask: Ask) -> tuple[int, Any]:
        reply = await ask("POST", url.removeprefix("https://longrank.example.org"), body.encode(), sent)
        return reply.status, reply.json

    return answers(desk, talk)  # type: ignore[no-any-return]


def of_connector(connector: dict[str, Any]) -> tuple[str, dict[str, str], str]:
    """Fill a connector's templates as ML Commons does: ``connector.pre_process.cohere.rerank`` gives the parameters.

    Lists and numbers are JSON; a text is escaped as in JSON and stands within the quotes of the template. Source:
    CohereRerankPreProcessFunction and HttpConnector of ML Commons.
    """
    (action,) = connector["actions"]
    parameters = {
        **connector["parameters"],
        "query": json.dumps(QUERY)[1:-1],
        "documents": json.dumps(TEXTS),
        "top_n": str(len(TEXTS)),
    }
    body = re.sub(r"\$\{parameters\.(\w+)\}", lambda match: parameters[match[1]], action["request_body"])
    headers = {
        name: re.sub(r"\$\{credential\.(\w+)\}", lambda match: {"key": KEY}[match[1]], value)
        for name, value in action["headers"].items()
    }
    return action["url"], headers, body


def of_service(settings: dict[str, Any]) -> tuple[str, dict[str, str], str]:
    """Fill the templates of Elasticsearch's custom service: values are JSON, "not surrounded by quotes".

    Source: PutCustomRequest of the Elasticsearch specification.
    """
    values = {"query": json.dumps(QUERY), "input": json.dumps(TEXTS)}
    body = re.sub(r"\$\{(\w+)\}", lambda match: values[match[1]], settings["request"])
    headers = {name: value.replace("${api_key}", KEY) for name, value in settings["headers"].items()}
    return settings["url"], {name.lower(): value for name, value in headers.items()}, body


def test_opensearch_gets_a_score_for_each_document_in_its_order(tmp_path: Path) -> None:
    connector = requests()["POST /_plugins/_ml/connectors/_create"]
    status, answer = asked(tmp_path, *of_connector(connector))
    assert status == 200, answer
    # CohereRerankPostProcessFunction: `index` and `relevance_score` of each result, back in the order of the documents
    scores = [0.0] * len(answer["results"])
    for result in answer["results"]:
        scores[result["index"]] = float(result["relevance_score"])
    assert len(scores) == len(TEXTS)
    assert min(scores[1], scores[2]) > max(scores[0], scores[3])


def test_elasticsearch_finds_scores_and_places_at_its_paths(tmp_path: Path) -> None:
    settings = requests()["PUT /_inference/rerank/longrank"]["service_settings"]
    status, answer = asked(tmp_path, *of_service(settings))
    assert status == 200, answer
    found = {name: at(answer, path) for name, path in settings["response"]["json_parser"].items()}
    assert sorted(found["reranked_index"]) == [0, 1, 2, 3]
    assert set(found["reranked_index"][:2]) == {1, 2}
    assert found["relevance_score"] == sorted(found["relevance_score"], reverse=True)
    assert all(0 <= score <= 1 for score in found["relevance_score"])


def at(value: Any, path: str) -> list[Any]:
    """Return the values at a JSON path of the form ``$.a[*].b``."""
    match = re.fullmatch(r"\$\.(\w+)\[\*\]\.(\w+)", path)
    assert match is not None
    return [item[match[2]] for item in value[match[1]]]


def test_a_wrong_key_is_refused(tmp_path: Path) -> None:
    url, headers, body = of_connector(requests()["POST /_plugins/_ml/connectors/_create"])
    status, _ = asked(tmp_path, url, {**headers, "Authorization": "Bearer other"}, body)
    assert status == 401


def test_the_searches_name_what_the_steps_before_made() -> None:
    page = requests()
    pattern = page["PUT /_cluster/settings"]["persistent"]["plugins.ml_commons.trusted_connector_endpoints_regex"][0]
    assert re.fullmatch(pattern, page["POST /_plugins/_ml/connectors/_create"]["actions"][0]["url"])
    assert "POST /pages/_search?search_pipeline=longrank" in page
    retriever = page["POST /pages/_search"]["retriever"]["text_similarity_reranker"]
    assert (retriever["inference_id"], retriever["field"]) == ("longrank", "body")
