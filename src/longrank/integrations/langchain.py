"""A LangChain document compressor that ranks whole documents by their passages, with the best ones as evidence.

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
    """Ranks documents, best first; ties keep the order of the input.

    Each result is a copy whose metadata has `relevance_score`, between 0 and 1, and the evidence under `longrank`.

    Attributes:
        pipeline: a shipped pipeline's name or a TOML file; only its passage scorer and aggregator are used.
            None: ``maxp`` with a model, ``minilm`` without.
        model: a Hugging Face name, a folder or an alias; replaces the pipeline's own.
        index: folder of an index whose statistics the ``lexical`` pipeline takes; None: those of each call's documents.
        assignments: ``section.key=value`` on top of the pipeline.
        top_n: documents to return; None: all.
        passages: passages in the evidence of each document, best first.
    """

    model_config = ConfigDict(extra="forbid")

    pipeline: str | None = None
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
        """Return the `top_n` best documents; a document's title is ``metadata["title"]``.

        Raises:
            InputError: the query is empty, or the model cannot be loaded.
        """
        texts = [document(source.id, source.page_content, source.metadata.get("title")) for source in documents]
        ranked = self._reranker.rank(query, texts, top_n=self.top_n, passages=self.passages)
        return [_with(documents[result.index], result.relevance, evidence) for result, evidence in ranked]


def _with(source: Document, relevance: float, evidence: dict[str, Any]) -> Document:
    return source.model_copy(update={"metadata": source.metadata | {"relevance_score": relevance, KEY: evidence}})
