"""A Haystack component that retrieves whole documents from an index, with their best passages as evidence.

retriever = LongRankRetriever("my.index", top_k=5, filters={"field": "meta.year", "operator": ">=", "value": 2020})
documents = retriever.run(query="how are hurricanes named")["documents"]
documents[0].meta["longrank"]["passages"][0]["text"]
"""

# Annotations are not deferred: Haystack before 2.24 compares their text, so nothing connects to these inputs.

from collections.abc import Mapping
from typing import Any, Self

from longrank.config import Assignments
from longrank.errors import InputError, MissingExtra
from longrank.index.filter_parsing import parsed_filter
from longrank.integrations.reranking import check_counts
from longrank.integrations.searching import LazySearcher

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ImportError:
    raise MissingExtra("the Haystack component", "haystack") from None

_OPERATORS = {
    "==": "$eq",
    "!=": "$ne",
    ">": "$gt",
    ">=": "$gte",
    "<": "$lt",
    "<=": "$lte",
    "in": "$in",
    "not in": "$nin",
}


@component
class LongRankRetriever:
    """Returns documents, best first; `meta` has the document's other fields, and the evidence under `longrank`.

    Args:
        index: folder of the index.
        pipeline: a shipped pipeline's name or a TOML file; None: ``mixed`` if MiniLM is installed, else ``lexical``.
        model: a Hugging Face name, a folder or an alias; replaces the pipeline's own.
        assignments: ``section.key=value`` on top of the pipeline.
        top_k: documents to return.
        passages: passages in the evidence of each document, best first.
        filters: Haystack's filters, or a mapping such as ``{"year": {"$gte": 2020}}``; None: all documents.
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
        top_k: int = 10,
        passages: int = 3,
        filters: dict[str, Any] | None = None,
        deadline: float | None = None,
    ) -> None:
        self.searcher = LazySearcher(index, pipeline, model=model, assignments=assignments, deadline=deadline)
        self.top_k, self.passages, self.filters = top_k, passages, filters
        check_counts("top_k", top_k, passages)
        parsed_filter(filter_of(filters))

    def warm_up(self) -> None:
        """Open the index and load the model; raises InputError if they cannot be loaded."""
        self.searcher.load()

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as `from_dict` reads them."""
        options = {name: getattr(self.searcher, name) for name in ("index", "pipeline", "model", "deadline")}
        options |= {"assignments": list(self.searcher.assignments), "top_k": self.top_k, "passages": self.passages}
        return default_to_dict(self, **options, filters=self.filters)  # type: ignore[no-any-return]

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return a component with the settings of `to_dict`."""
        return default_from_dict(cls, data)  # type: ignore[no-any-return]

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    def run(
        self, query: str, top_k: int | None = None, filters: dict[str, Any] | None = None
    ) -> dict[str, list[Document]]:
        """Return ``{"documents": [...]}``.

        Args:
            query: the query.
            top_k: replaces the component's own.
            filters: replace the component's own.

        Raises:
            InputError: a wrong filter, or the index or the model cannot be loaded.
        """
        found = self.searcher.search(
            query,
            k=self.top_k if top_k is None else top_k,
            passages=self.passages,
            filter=filter_of(self.filters if filters is None else filters),
        )
        documents = [
            Document(id=result.doc_id, content=text, meta=metadata, score=result.score)
            for result, text, metadata in found
        ]
        return {"documents": documents}


def filter_of(filters: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return Haystack's filters as a filter of LongRank; a filter of LongRank and None stay as they are.

    Raises:
        InputError: an operator that LongRank lacks, or a filter without its parts.
    """
    if not filters or "operator" not in filters:
        return filters or None
    name = filters["operator"]
    if name in ("AND", "OR", "NOT"):
        parts = [filter_of(part) for part in filters.get("conditions", ())]
        if not parts:
            raise InputError("a filter needs conditions", got=dict(filters))
        return {"$not": {"$and": parts}} if name == "NOT" else {f"${name.lower()}": parts}
    if name not in _OPERATORS or "field" not in filters:
        raise InputError("LongRank has no such filter", got=dict(filters), fix=f"one of {', '.join(_OPERATORS)}")
    return {str(filters["field"]).removeprefix("meta."): {_OPERATORS[name]: filters.get("value")}}
