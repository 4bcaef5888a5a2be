"""A LangChain document compressor that ranks whole documents by their passages and says which ones counted.

compressor = LongRankCompressor(pipeline="maxp", model="./my-cross-encoder", top_n=5)
best = compressor.compress_documents(documents, "how are hurricanes named")
best[0].metadata["longrank"]["passages"][0]["text"]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import ConfigDict, PrivateAttr

from longrank.errors import MissingExtra
from longrank.integrations.reranking import KEY, LazyReranker, document

try:
    from langchain_core.documents import BaseDocumentCompressor, Document
except ImportError:
    raise MissingExtra("the LangChain compressor", "langchain") from None


class LongRankCompressor(BaseDocumentCompressor):  # type: ignore[misc]  # types of langchain_core are not read
    """Ranks documents, best first; ties keep the order given.

    Each result is a copy whose metadata has `relevance_score`, between 0 and 1, and under `longrank` the evidence.

    Attributes:
        pipeline: the name of a shipped pipeline, or a TOML file; of it the passage scorer and aggregator count.
        model: a Hugging Face name, a folder or an alias; replaces the pipeline's own.
        index: the folder of an index that gives BM25 its statistics; None: the documents of each call do.
        assignments: ``section.key=value`` on top of the pipeline.
        top_n: how many documents are kept; None: all.
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

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: object = None
    ) -> Sequence[Document]:
        """Return the `top_n` best documents; the title a pipeline may read is ``metadata["title"]``.

        Raises:
            InputError: the query is empty, or the model cannot be had.
        """
        given = [document(one.id, one.page_content, one.metadata.get("title")) for one in documents]
        ranked = self._reranker.rank(query, given, top_n=self.top_n, passages=self.passages)
        return [_with(documents[one.index], one.relevance, evidence) for one, evidence in ranked]


def _with(one: Document, relevance: float, evidence: dict[str, Any]) -> Document:
    return one.model_copy(update={"metadata": one.metadata | {"relevance_score": relevance, KEY: evidence}})
