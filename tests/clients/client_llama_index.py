"""LlamaIndex's postprocessors for text-embeddings-inference, Jina and Cohere."""

from __future__ import annotations

from typing import Any

from asking import answer, failed
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.postprocessor.cohere_rerank import CohereRerank
from llama_index.postprocessor.jinaai_rerank import JinaRerank
from llama_index.postprocessor.tei_rerank import TextEmbeddingInference


def rerank(url: str, key: str, query: str, texts: list[str]) -> dict[str, Any]:
    """Rank with each, and ask each with a wrong key."""

    def clients(token: str) -> dict[str, Any]:
        return {
            "tei": TextEmbeddingInference(base_url=url, top_n=2, auth_token=f"Bearer {token}"),
            "jina": JinaRerank(base_url=f"{url}/v1", api_key=token, model="maxp", top_n=2),
            "cohere": CohereRerank(base_url=url, api_key=token, model="maxp", top_n=2, max_retries=1),
        }

    def ask(client: Any) -> list[NodeWithScore]:
        nodes = [NodeWithScore(node=TextNode(text=text, metadata={"n": n})) for n, text in enumerate(texts)]
        return client.postprocess_nodes(nodes, query_str=query)

    found = {name: ask(client) for name, client in clients(key).items()}
    return {
        "order": {name: [one.metadata["n"] for one in nodes] for name, nodes in found.items()},
        "scores": {name: [one.score for one in nodes] for name, nodes in found.items()},
        "key": {name: failed(lambda client=client: ask(client)) for name, client in clients("wrong").items()},
    }


answer(rerank)
