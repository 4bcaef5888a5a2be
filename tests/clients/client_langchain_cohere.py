"""langchain-cohere's compressor."""

from __future__ import annotations

from typing import Any

from asking import answer, failed
from langchain_cohere import CohereRerank
from langchain_core.documents import Document


def rerank(url: str, key: str, query: str, texts: list[str]) -> dict[str, Any]:
    """Rank, and ask with a wrong key."""
    documents = [Document(text, metadata={"n": n}) for n, text in enumerate(texts)]
    compressor = CohereRerank(model="maxp", base_url=url, cohere_api_key=key, top_n=2)
    stranger = CohereRerank(model="maxp", base_url=url, cohere_api_key="wrong")
    found = compressor.compress_documents(documents, query)
    return {
        "order": [one.metadata["n"] for one in found],
        "scores": [one.metadata["relevance_score"] for one in found],
        "key": failed(lambda: stranger.compress_documents(documents, query)),
    }


answer(rerank)
