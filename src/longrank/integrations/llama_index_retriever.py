"""A LlamaIndex retriever over an index: whole documents as nodes, with their best passages as evidence.

retriever = LongRankRetriever("my.index", similarity_top_k=5, filters=MetadataFilters(filters=[...]))
nodes = retriever.retrieve("how are hurricanes named")
nodes[0].node.metadata["longrank"]["passages"][0]["text"]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from longrank.config import Assignments
from longrank.errors import InputError, MissingExtra
from longrank.index.filter_parsing import parsed_filter
from longrank.integrations.reranking import KEY, check_counts
from longrank.integrations.searching import LazySearcher

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import (
        NodeRelationship,
        NodeWithScore,
        ObjectType,
        QueryBundle,
        RelatedNodeInfo,
        TextNode,
    )
    from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters
except ImportError:
    raise MissingExtra("the LlamaIndex retriever", "llama-index") from None

_OPERATORS: dict[str, Callable[[Any], Any]] = {
    "==": lambda value: {"$eq": value},
    "!=": lambda value: {"$ne": value},
    ">": lambda value: {"$gt": value},
    ">=": lambda value: {"$gte": value},
    "<": lambda value: {"$lt": value},
    "<=": lambda value: {"$lte": value},
    "in": lambda value: {"$in": value},
    "nin": lambda value: {"$nin": value},
    "any": lambda value: {"$in": value},
    "contains": lambda value: {"$eq": value},
}
"""LlamaIndex's operators; `any` and `contains` compare the items of lists, and texts as a whole."""


class LongRankRetriever(BaseRetriever):  # type: ignore[misc]  # types of llama_index are not read
    """Returns nodes, best first: the document's text, its other fields as metadata, and the evidence under `longrank`.

    The evidence is hidden from embedding models and language models. The source of a node (`ref_doc_id`) is the
    document, its children are the passages of the evidence: ``DOC_ID:START-END``, with offsets and score as metadata.

    Args:
        index: folder of the index.
        pipeline: a shipped pipeline's name or a TOML file; None: ``mixed`` if MiniLM is installed, else ``lexical``.
        model: a Hugging Face name, a folder or an alias; replaces the pipeline's own.
        assignments: ``section.key=value`` on top of the pipeline.
        similarity_top_k: documents to return.
        passages: passages in the evidence of each, best first.
        filters: LlamaIndex's filters, or a mapping such as ``{"year": {"$gte": 2020}}``; None: all documents.
        deadline: seconds for a search, after which what is read by then is ranked; loading is not counted. None: all
            is read.

    Raises:
        InputError: a pipeline, setting or filter that is unknown or wrong.
    """

    def __init__(
        self,
        index: str,
        pipeline: str | None = None,
        *,
        model: str | None = None,
        assignments: Assignments = (),
        similarity_top_k: int = 10,
        passages: int = 3,
        filters: MetadataFilters | Mapping[str, Any] | None = None,
        deadline: float | None = None,
    ) -> None:
        super().__init__()
        self.searcher = LazySearcher(index, pipeline, model=model, assignments=assignments, deadline=deadline)
        self.similarity_top_k, self.passages = similarity_top_k, passages
        self.filter = filter_of(filters)
        check_counts("similarity_top_k", similarity_top_k, passages)
        parsed_filter(self.filter)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self.searcher.search(
            query_bundle.query_str, k=self.similarity_top_k, passages=self.passages, filter=self.filter
        )
        return [
            NodeWithScore(node=_node(result.doc_id, text, metadata), score=result.score)
            for result, text, metadata in found
        ]


class _Found(TextNode):  # type: ignore[misc]  # types of llama_index are not read
    """A document that was found; queries that find it give it other evidence, and the same hash.

    By the hash, LlamaIndex fuses the rankings of several queries or retrievers.
    """

    @property
    def hash(self) -> str:
        """Hash of the text and the document's own metadata."""
        own = {name: value for name, value in self.metadata.items() if name != KEY}
        return str(TextNode(text=self.text, metadata=own).hash)


def _node(doc_id: str, text: str, metadata: dict[str, Any]) -> _Found:
    """Return a document as a node: its source is the document, its children are the passages of the evidence."""
    children = [
        RelatedNodeInfo(
            node_id=f"{doc_id}:{passage['start']}-{passage['end']}",
            node_type=ObjectType.TEXT,
            metadata={name: passage[name] for name in ("start", "end", "score")},
        )
        for passage in metadata[KEY]["passages"]
    ]
    source = RelatedNodeInfo(node_id=doc_id, node_type=ObjectType.DOCUMENT)
    return _Found(
        id_=doc_id,
        text=text,
        metadata=metadata,
        excluded_embed_metadata_keys=[KEY],
        excluded_llm_metadata_keys=[KEY],
        relationships={NodeRelationship.SOURCE: source, NodeRelationship.CHILD: children},
    )


def filter_of(filters: MetadataFilters | Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return LlamaIndex's filters as a filter of LongRank; a mapping and None stay as they are.

    Raises:
        InputError: an operator or a condition that LongRank lacks.
    """
    if filters is None or isinstance(filters, Mapping):
        return filters
    connective = {"and": "$and", "or": "$or", "not": "$not"}.get(getattr(filters.condition, "value", "and"))
    if connective is None or not filters.filters:
        raise InputError("filters need parts, joined by and, or or not", got=str(filters.condition))
    parts = [filter_of(part) if isinstance(part, MetadataFilters) else _condition(part) for part in filters.filters]
    return {"$not": {"$or": parts}} if connective == "$not" else {connective: parts}


def _condition(part: MetadataFilter) -> dict[str, Any]:
    name = part.operator.value
    if name == "is_empty":
        return {"$or": [{part.key: {"$exists": False}}, {part.key: []}]}
    if name not in _OPERATORS:
        raise InputError(f"filter of '{part.key}': LongRank has no such operator", got=name)
    return {part.key: _OPERATORS[name](part.value)}
