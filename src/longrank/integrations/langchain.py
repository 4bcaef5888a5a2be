"""A LangChain document compressor that ranks whole documents by their passages, with the best ones as evidence.

compressor = LongRankCompressor(pipeline="maxp", model="./my-cross-encoder", top_n=5)
best = compressor.compress_documents(documents, "how are hurricanes named")
best[0].metadata["longrank"]["passages"][0]["text"]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from longrank.errors import MissingExtra
from longrank.integrations.reranking import KEY, RerankerSettings, document

try:
    from langchain_core.documents import BaseDocumentCompressor, Document
except ImportError:
    raise MissingExtra("the LangChain compressor", "langchain") from None


class LongRankCompressor(RerankerSettings, BaseDocumentCompressor):  # type: ignore[misc]  # types of langchain_core are not read
    """Ranks documents, best first; ties keep the order of the input.

    Each result is a copy whose metadata has `relevance_score`, between 0 and 1, and the evidence under `longrank`.

    Attributes: see `RerankerSettings`.
    """

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: object = None
    ) -> Sequence[Document]:
        """Return the `top_n` best documents; a document's title is ``metadata["title"]``.

        Raises:
            InputError: the query is empty, or the model cannot be loaded.
        """
        texts = [document(source.id, source.page_content, source.metadata.get("title")) for source in documents]
        ranked = self._reranker.rank(query, texts, top_n=self.top_n, passages=self.passages)
        return [_with(documents[result.index], result.relevance, evidence) for result, evidence in ranked]


def _with(source: Document, relevance: float, evidence: dict[str, Any]) -> Document:
    return source.model_copy(update={"metadata": source.metadata | {"relevance_score": relevance, KEY: evidence}})
