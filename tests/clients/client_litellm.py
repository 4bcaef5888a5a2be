"""litellm's rerank, with the providers whose shapes the server speaks, and two whose shapes it does not."""

from __future__ import annotations

import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks the network when it is imported

from typing import Any

import litellm
from asking import answer, failed

PROVIDERS = ("cohere", "jina_ai", "hosted_vllm", "huggingface", "together_ai")
litellm.suppress_debug_info = True


def _rerank(provider: str, url: str, key: str, **asked: Any) -> Any:
    # What litellm calls a model is PROVIDER/MODEL; together_ai's provider takes its address from elsewhere.
    return litellm.rerank(model=f"{provider}/maxp", api_base=url, api_key=key, num_retries=0, **asked)


def rerank(url: str, key: str, query: str, texts: list[str]) -> dict[str, Any]:
    """Rank with each provider, and ask each with a wrong key."""
    asked = {"query": query, "documents": texts, "top_n": 2}
    found = {}
    for provider in PROVIDERS:
        try:
            answered = _rerank(provider, url, key, **asked)
            found[provider] = [[one["index"], one["relevance_score"]] for one in answered.results]
        except Exception as error:
            found[provider] = f"{type(error).__name__}: {error}"
    wrong = {one: failed(lambda one=one: _rerank(one, url, "wrong", **asked)) for one in PROVIDERS}
    return {"found": found, "key": wrong}


def others(url: str, key: str, query: str, texts: list[str]) -> dict[str, Any]:
    """Ask as if the server were Infinity, with and without documents in the answer, or Voyage."""
    asked = {"query": query, "documents": texts}
    plain = _rerank("infinity", url, key, **asked, return_documents=False)
    return {
        "infinity": [one["index"] for one in plain.results],
        "infinity with documents": failed(lambda: _rerank("infinity", url, key, **asked, return_documents=True)),
        "voyage": failed(lambda: _rerank("voyage", url, key, **asked)),
    }


def busy(url: str, key: str, query: str, texts: list[str]) -> dict[str, Any]:
    """Ask once of a server that refuses."""
    return {"refused": failed(lambda: _rerank("cohere", url, key, query=query, documents=texts))}


answer(rerank, others, busy)
