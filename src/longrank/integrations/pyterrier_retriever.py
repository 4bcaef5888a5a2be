"""A PyTerrier transformer that retrieves whole documents from an index, with evidence; needs no Java.

    pipeline = LongRankRetriever("my.index", num_results=100, filter={"year": {"$gte": 2020}})

Queries come as rows with `qid` and `query`. Results are the rows of each query, best first, with `docno`, `score`,
`rank`, `text`, `title`, `metadata` (all fields of the document but its text), `longrank_truncated` (true if some tokens
were not read) and `longrank_passages`, its best passages. With a deadline, `longrank_partial` has the counts of a
search that it cut short, else None.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from longrank.config import Assignments
from longrank.errors import InputError, MissingExtra
from longrank.formats.queries import check_language
from longrank.index.filter_parsing import parse_filter, parse_json, parsed_filter
from longrank.index.filters import Filter
from longrank.integrations.reranking import KEY, check_counts
from longrank.integrations.searching import LazySearcher

try:
    import pandas as pd
    import pyterrier as pt
except ImportError:
    raise MissingExtra("the PyTerrier transformer", "pyterrier") from None

_NEW = ("docno", "score", "rank", "text", "title", "metadata", f"{KEY}_truncated", f"{KEY}_passages")
_PARTIAL = f"{KEY}_partial"


class LongRankRetriever(pt.Transformer):  # type: ignore[misc]  # pyterrier has no types
    """Retrieves the documents of each query, best first; a column ``filter`` has a filter for each query, a
    mapping or a JSON text.

    Args:
        index: folder of the index.
        pipeline: a shipped pipeline's name or a TOML file; None: ``mixed`` if MiniLM is installed, else ``lexical``.
        model: a Hugging Face name, a folder or an alias; replaces the pipeline's own.
        assignments: ``section.key=value`` on top of the pipeline.
        num_results: documents per query.
        passages: passages in `longrank_passages` of each document, best first.
        filter: filter of the documents by metadata, ``{"year": {"$gte": 2020}}``; None: all documents.
        deadline: seconds for a search, after which what is read by then is ranked; loading is not counted. None: all
            is read.

    Raises:
        InputError: a pipeline, setting or filter that is unknown or wrong; `num_results` below 1, `passages` below 0.
    """

    def __init__(
        self,
        index: str,
        pipeline: str | None = None,
        *,
        model: str | None = None,
        assignments: Assignments = (),
        num_results: int = 1000,
        passages: int = 3,
        filter: Mapping[str, Any] | None = None,
        deadline: float | None = None,
    ) -> None:
        super().__init__()
        check_counts("num_results", num_results, passages)
        parsed_filter(filter)
        self.searcher = LazySearcher(index, pipeline, model=model, assignments=assignments, deadline=deadline)
        self.num_results, self.passages, self.filter = num_results, passages, filter
        self._new = _NEW if deadline is None else (*_NEW, _PARTIAL)
        self.schematic = {"label": f"LongRank {self.searcher.name}"}

    def __repr__(self) -> str:
        return f"LongRankRetriever({self.searcher.index!r}, {self.searcher.name!r})"

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of the results.

        Raises:
            InputError: two queries with one qid, a wrong filter, or the index or the model cannot be loaded.
        """
        pt.validate.query_frame(inp, extra_columns=["query"])
        if (twice := inp["qid"][inp["qid"].duplicated()]).size:
            raise InputError("two queries have one qid", got=twice.iloc[0], fix="give each query a qid of its own")
        queries = inp.to_dict("records")
        for number, query in enumerate(queries, 1):
            check_language(query, Path("queries"), number)
        rows = [row for query in queries for row in self._rows(query)]
        return pd.DataFrame(
            rows, columns=[*(name for name in inp.columns if name not in (*_NEW, _PARTIAL)), *self._new]
        )

    def _filter_of(self, query: dict[str, Any]) -> Filter | None:
        """Return the filter in a query's row, or the filter of all queries."""
        own, place = query.get("filter"), f"filter of query {query['qid']!r}"
        if own == "" or (pd.api.types.is_scalar(own) and pd.isna(own)):
            return parsed_filter(self.filter)
        return parse_json(own, place) if isinstance(own, str) else parse_filter(own, place)

    def _rows(self, query: dict[str, Any]) -> list[dict[str, Any]]:
        fields = {name: value for name, value in query.items() if isinstance(value, str)}  # such as lang
        found = self.searcher.search(
            query["query"], k=self.num_results, passages=self.passages, filter=self._filter_of(query), fields=fields
        )
        rows = []
        for rank, (result, text, metadata) in enumerate(found):
            evidence = metadata.pop(KEY)
            shown = (evidence["truncated"], evidence["passages"])
            values = (result.doc_id, result.score, rank, text, result.title, metadata, *shown)
            new = dict(zip(_NEW, values, strict=True)) | {_PARTIAL: evidence.get("partial")}
            rows.append({**query, **{name: new[name] for name in self._new}})
        return rows
