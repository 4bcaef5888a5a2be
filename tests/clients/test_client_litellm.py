"""litellm's rerank, with the providers whose shapes the server speaks, and the two it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")

from integrations_texts import ORDER
from longrank.service.settings import ServiceSettings
from real_clients import NAMES, asked, in_thread, needs
from served import desk_of

pytestmark = needs("cohere7")

PROVIDERS = ["cohere", "jina_ai", "hosted_vllm", "huggingface", "together_ai"]


@pytest.mark.neural
def test_litellm_ranks_as_five_providers(url: str) -> None:
    found = asked("cohere7", "litellm", "rerank", url)
    assert list(found["found"]) == PROVIDERS
    for provider, results in found["found"].items():
        assert [NAMES[index] for index, _ in results] == ORDER[:2], f"{provider}: {results}"
        assert 1 >= results[0][1] > results[1][1] >= 0
    wrong = {(one["type"], one["status"]) for one in found["key"].values()}
    assert wrong == {("AuthenticationError", 401)}


@pytest.mark.neural
def test_litellm_asks_infinity_only_without_documents_and_voyage_not_at_all(url: str) -> None:
    found = asked("cohere7", "litellm", "others", url)
    assert [NAMES[index] for index in found["infinity"]] == ORDER
    assert "document.text" in found["infinity with documents"]["said"]
    assert "No results found" in found["voyage"]["said"]


def test_litellm_knows_an_overloaded_server(tmp_path: Path) -> None:
    desk = desk_of(tmp_path, settings=ServiceSettings(max_requests=1))
    with in_thread(desk) as url, desk.admission.admit(1, float("inf")):
        found = asked("cohere7", "litellm", "busy", url)
    assert (found["refused"]["type"], found["refused"]["status"]) == ("RateLimitError", 429)
