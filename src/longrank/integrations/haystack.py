"""A Haystack component that ranks whole documents by their passages, with the best passages as evidence.

ranker = LongRankRanker("maxp", model="./my-cross-encoder", top_k=5)
best = ranker.run(query="how are hurricanes named", documents=documents)["documents"]
best[0].meta["longrank"]["passages"][0]["text"]
"""

# Annotations are not deferred: Haystack before 2.24 compares their text, so nothing connects to these inputs.

from dataclasses import replace
from typing import Any, Self

from longrank.config import Assignments
from longrank.errors import MissingExtra
from longrank.integrations.reranking import KEY, LazyReranker, check_counts, document

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ImportError:
    raise MissingExtra("the Haystack component", "haystack") from None


@component
class LongRankRanker:
    """Ranks documents, best first; ties keep the order of the input.

    Each result is a copy whose `score` is between 0 and 1 and whose `meta` has the evidence under `longrank`.

    Args:
        pipeline: a shipped pipeline's name or a TOML file; only its passage scorer and aggregator are used.
            None: ``maxp`` with a model, ``minilm`` without.
        model: a Hugging Face name, a folder or an alias; replaces the pipeline's own.
        index: folder of an index whose statistics the ``lexical`` pipeline takes; None: those of each call's documents.
        assignments: ``section.key=value`` on top of the pipeline.
        top_k: documents to return; None: all.
        passages: passages in the evidence of each document, best first.
        deadline: seconds for a call, after which what is read by then is ranked; loading the model is not counted.
            None: all is read.

    Raises:
        InputError: no such pipeline, or a setting is unknown or wrong.
    """

    def __init__(
        self,
        pipeline: str | None = None,
        *,
        model: str | None = None,
        index: str | None = None,
        assignments: Assignments = (),
        top_k: int | None = None,
        passages: int = 3,
        deadline: float | None = None,
    ) -> None:
        options: dict[str, Any] = {"model": model, "index": index, "assignments": assignments}
        self.reranker = LazyReranker(pipeline, **options, deadline=deadline)
        check_counts("top_k", top_k, passages)
        self.top_k, self.passages = top_k, passages

    def warm_up(self) -> None:
        """Load the model; raises InputError if it cannot be loaded."""
        self.reranker.load()

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as `from_dict` reads them."""
        options = {name: getattr(self.reranker, name) for name in ("pipeline", "model", "index", "deadline")}
        options |= {"assignments": list(self.reranker.assignments), "top_k": self.top_k, "passages": self.passages}
        return default_to_dict(self, **options)  # type: ignore[no-any-return]

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return a component with the settings of `to_dict`."""
        return default_from_dict(cls, data)  # type: ignore[no-any-return]

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    def run(self, query: str, documents: list[Document], top_k: int | None = None) -> dict[str, list[Document]]:
        """Return ``{"documents": [...]}``; a document's title is ``meta["title"]``.

        Args:
            query: the query.
            documents: whole documents.
            top_k: replaces the component's own.

        Raises:
            InputError: the query is empty, a document has no text, or the model cannot be loaded.
        """
        texts = [document(source.id, source.content, source.meta.get("title")) for source in documents]
        top_n = self.top_k if top_k is None else top_k
        ranked = self.reranker.rank(query, texts, top_n=top_n, passages=self.passages)
        return {
            "documents": [_with(documents[result.index], result.relevance, evidence) for result, evidence in ranked]
        }


def _with(source: Document, relevance: float, evidence: dict[str, Any]) -> Document:
    return replace(source, score=relevance, meta=source.meta | {KEY: evidence})
