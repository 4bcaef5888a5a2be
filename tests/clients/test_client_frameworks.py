"""Rerank clients of frameworks: langchain-cohere, cohere-haystack, LlamaIndex for three dialects."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from integrations_texts import ORDER
from real_clients import NAMES, asked, needs

pytestmark = pytest.mark.neural


@pytest.mark.parametrize(
    ("environment", "framework"),
    [
        pytest.param("cohere5", "langchain_cohere", marks=needs("cohere5")),
        pytest.param("cohere7", "haystack", marks=needs("cohere7")),
    ],
)
def test_frameworks_rank_through_coheres_sdk(environment: str, framework: str, url: str) -> None:
    found = asked(environment, framework, "rerank", url)
    assert [NAMES[n] for n in found["order"]] == ORDER[:2]
    assert 1 >= found["scores"][0] > found["scores"][1] >= 0
    assert (found["key"]["type"], found["key"]["status"]) == ("UnauthorizedError", 401)


@needs("cohere6")
def test_llama_index_ranks_in_three_dialects(url: str) -> None:
    found = asked("cohere6", "llama_index", "rerank", url)
    assert set(found["order"]) == {"tei", "jina", "cohere"}
    for name, order in found["order"].items():
        assert [NAMES[n] for n in order] == ORDER[:2], name
        assert 1 >= found["scores"][name][0] > found["scores"][name][1] >= 0


@needs("cohere6")
def test_llama_indexs_clients_say_what_is_refused_if_they_can(url: str) -> None:
    found = asked("cohere6", "llama_index", "rerank", url)["key"]
    assert (found["cohere"]["type"], found["cohere"]["status"]) == ("UnauthorizedError", 401)
    assert (found["jina"]["type"], found["jina"]["said"]) == ("RuntimeError", "the key is wrong")
    assert found["tei"]["type"] == "AssertionError"  # it looks at no status
