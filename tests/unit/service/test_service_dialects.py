"""Dialects: additional fields of requests, and the shapes of errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from longrank.service.rerank import Service
from served import DOCUMENTS, Ask, answers, desk_of

TEXTS = [one.text for one in DOCUMENTS]


@pytest.fixture
def desk(tmp_path: Path) -> Service:
    return desk_of(tmp_path)


def asked(desk: Service, path: str, *values: dict[str, object]) -> list[Any]:
    """Return the values of the answers to several requests."""

    async def talk(ask: Ask) -> list[Any]:
        return [(await ask("POST", path, {"query": "fox", **value})).json for value in values]

    return answers(desk, talk)


def test_litellm_wants_documents_back_from_coheres_second_version_too(desk: Service) -> None:
    given = {"documents": TEXTS}
    back, not_back = asked(desk, "/v2/rerank", given | {"return_documents": True}, given | {"return_documents": False})
    assert [one["document"] for one in back["results"]] == [{"text": TEXTS[one["index"]]} for one in back["results"]]
    assert "document" not in not_back["results"][0]


def test_litellm_wants_so_many_texts_back_from_tei(desk: Service) -> None:
    given = {"texts": TEXTS}
    whole, two, null = asked(desk, "/rerank", given, given | {"top_n": 2}, given | {"top_n": None})
    assert two == whole[:2]
    assert null == whole


def test_rerankers_names_a_model_beside_teis_texts(desk: Service) -> None:
    named, plain = asked(desk, "/rerank", {"texts": TEXTS, "model": "lexical"}, {"texts": TEXTS})
    assert named == plain


@pytest.mark.parametrize("path", ["/rerank", "/v1/rerank"])
def test_jinas_clients_find_what_is_wrong_where_they_look(desk: Service, path: str) -> None:
    (said,) = asked(desk, path, {"documents": []})
    assert said["detail"] == said["message"]
    assert said["message"].startswith("/documents: ")
