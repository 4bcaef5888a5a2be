"""A LlamaIndex node postprocessor that ranks whole documents by their passages, with the best ones as evidence.

postprocessor = LongRankPostprocessor(pipeline="maxp", model="./my-cross-encoder", top_n=5)
best = postprocessor.postprocess_nodes(nodes, query_str="how are hurricanes named")
best[0].node.metadata["longrank"]["passages"][0]["text"]
"""

from __future__ import annotations

from typing import Any

from longrank.errors import InputError, MissingExtra
from longrank.integrations.reranking import KEY, RerankerSettings, document

try:
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
except ImportError:
    raise MissingExtra("the LlamaIndex postprocessor", "llama-index") from None

_EXCLUDED = ("excluded_embed_metadata_keys", "excluded_llm_metadata_keys")


class LongRankPostprocessor(RerankerSettings, BaseNodePostprocessor):  # type: ignore[misc]  # types of llama_index are not read
    """Ranks nodes, best first; ties keep the order of the input.

    Each result is a copy whose `score` is between 0 and 1 and whose metadata has the evidence under `longrank`,
    which is hidden from embedding models and language models. Only the node's text is read, not its metadata.

    Attributes: see `RerankerSettings`.
    """

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex stores the settings."""
        return "LongRankPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        """Return the `top_n` best nodes; a node's title is ``metadata["title"]``.

        Raises:
            InputError: there is no query, or the model cannot be loaded.
        """
        if query_bundle is None:
            raise InputError("reranking needs the query", fix="give query_bundle or query_str")
        texts = [document(n.node_id, n.node.get_content(MetadataMode.NONE), n.metadata.get("title")) for n in nodes]
        ranked = self._reranker.rank(query_bundle.query_str, texts, top_n=self.top_n, passages=self.passages)
        return [_with(nodes[result.index], result.relevance, evidence) for result, evidence in ranked]


def _with(source: NodeWithScore, relevance: float, evidence: dict[str, Any]) -> NodeWithScore:
    hidden = {name: [*dict.fromkeys([*getattr(source.node, name), KEY])] for name in _EXCLUDED}
    node = source.node.model_copy(update={"metadata": source.node.metadata | {KEY: evidence}, **hidden})
    return NodeWithScore(node=node, score=relevance)
