"""A LlamaIndex node postprocessor that ranks whole documents by their passages and says which ones counted.

postprocessor = LongRankPostprocessor(pipeline="maxp", model="./my-cross-encoder", top_n=5)
best = postprocessor.postprocess_nodes(nodes, query_str="how are hurricanes named")
best[0].node.metadata["longrank"]["passages"][0]["text"]
"""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, PrivateAttr

from longrank.errors import InputError, MissingExtra
from longrank.integrations.reranking import KEY, LazyReranker, document

try:
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
except ImportError:
    raise MissingExtra("the LlamaIndex postprocessor", "llama-index") from None

_EXCLUDED = ("excluded_embed_metadata_keys", "excluded_llm_metadata_keys")


class LongRankPostprocessor(BaseNodePostprocessor):  # type: ignore[misc]  # types of llama_index are not read
    """Ranks nodes, best first; ties keep the order given.

    Each result is a copy whose `score` is between 0 and 1 and whose metadata has the evidence under `longrank`, which
    is not part of the text that models are shown. What is read of a node is its text without metadata.

    Attributes:
        pipeline: the name of a shipped pipeline, or a TOML file; of it the passage scorer and aggregator count.
        model: a Hugging Face name, a folder or an alias; replaces the pipeline's own.
        index: the folder of an index that gives BM25 its statistics; None: the documents of each call do.
        assignments: ``section.key=value`` on top of the pipeline.
        top_n: how many nodes are kept; None: all.
        passages: how many passages to show of each, best first.
    """

    model_config = ConfigDict(extra="forbid")

    pipeline: str = "maxp"
    model: str | None = None
    index: str | None = None
    assignments: tuple[str, ...] = ()
    top_n: int | None = None
    passages: int = 3
    _reranker: LazyReranker = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Check the settings; raises InputError for a pipeline or a setting that is unknown or wrong."""
        super().model_post_init(context)
        self._reranker = LazyReranker(self.pipeline, model=self.model, index=self.index, assignments=self.assignments)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex stores the settings."""
        return "LongRankPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        """Return the `top_n` best nodes; the title a pipeline may read is ``metadata["title"]``.

        Raises:
            InputError: there is no query, or the model cannot be had.
        """
        if query_bundle is None:
            raise InputError("reranking needs the query", fix="give query_bundle or query_str")
        given = [document(n.node_id, n.node.get_content(MetadataMode.NONE), n.metadata.get("title")) for n in nodes]
        ranked = self._reranker.rank(query_bundle.query_str, given, top_n=self.top_n, passages=self.passages)
        return [_with(nodes[one.index], one.relevance, evidence) for one, evidence in ranked]


def _with(one: NodeWithScore, relevance: float, evidence: dict[str, Any]) -> NodeWithScore:
    hidden = {name: [*getattr(one.node, name), KEY] for name in _EXCLUDED}
    node = one.node.model_copy(update={"metadata": one.node.metadata | {KEY: evidence}, **hidden})
    return NodeWithScore(node=node, score=relevance)
