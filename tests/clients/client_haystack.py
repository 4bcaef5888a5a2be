"""cohere-haystack's ranker."""

from __future__ import annotations

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # read when it is imported

from typing import Any

from asking import answer, failed
from haystack import Document
from haystack.utils import Secret
from haystack_integrations.components.rankers.cohere import CohereRanker


def rerank(url: str, key: str, query: str, texts: list[str]) -> dict[str, Any]:
    """Rank, and ask with a wrong key."""
    documents = [Document(content=text, meta={"n": n}) for n, text in enumerate(texts)]

    def ask(token: str) -> list[Document]:
        ranker = CohereRanker("maxp", top_k=2, api_key=Secret.from_token(token), api_base_url=url)
        return ranker.run(query=query, documents=documents)["documents"]

    found = ask(key)
    return {
        "order": [one.meta["n"] for one in found],
        "scores": [one.score for one in found],
        "key": failed(lambda: ask("wrong")),
    }


answer(rerank)
