"""A search of an index that the integrations' retrievers share: opened at its first use, with plain values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ConfigDict, PrivateAttr

from longrank.config import Assignments, listed
from longrank.formats.queries import query_text
from longrank.index import Index
from longrank.index.filter_parsing import parsed_filter
from longrank.index.filters import Filter
from longrank.index.languages import in_language
from longrank.integrations.following import Following, absolute, absolute_pipeline
from longrank.integrations.reranking import KEY, check_counts, log_notes, made_with, passages_of
from longrank.networks.model_files import absolute_model
from longrank.ranking.fields import with_metadata
from longrank.ranking.found import Partial, Result, note_unread_in
from longrank.ranking.pipeline import Pipeline, filtered, note_cut_queries, open_pipeline
from longrank.ranking.settings import default_pipeline, load_pipeline, with_absolute_paths
from longrank.ranking.timed import Deadline, check_deadline
from longrank.ranking.timed_search import search_within
from longrank.registries import check_at_least
from longrank.types import Notes, Query


class LazySearcher:
    """Searches an index that is opened at the first search, one search at a time; copies open it again.

    A search looks whether the index was changed, and then answers from its new state (`Following`); models stay loaded.
    Notes, such as a model that is replaced or a query that is cut, are logged as warnings.

    Args:
        index: folder of the index; an open `Index` stays in its state.
        pipeline: a shipped pipeline's name or a TOML file; None: ``mixed`` if MiniLM is installed, else ``lexical``.
        model: a Hugging Face name, a folder or an alias; replaces the pipeline's own.
        assignments: ``section.key=value`` on top of the pipeline.
        deadline: seconds for a search, after which what is read by then is ranked; loading is not counted. None: all
            is read.

    Raises:
        InputError: no such pipeline, a setting is unknown or wrong, or an index at an address of another kind.
    """

    def __init__(
        self,
        index: Index | Path | str,
        pipeline: str | None = None,
        *,
        model: str | None = None,
        assignments: Assignments = (),
        deadline: float | None = None,
    ) -> None:
        if deadline is not None:
            check_deadline(deadline)
        self.deadline = deadline
        self.pipeline, self.assignments = absolute_pipeline(pipeline), tuple(listed(assignments))
        self.model, self.index = absolute_model(model), absolute(index)
        self.name = self.pipeline or default_pipeline()
        self._settings = with_absolute_paths(load_pipeline(self.name, self.assignments, model=model))
        self._lock, self._notes = Lock(), Notes()
        self._following = Following(self.index, self._opened)

    def __reduce__(self) -> tuple[Any, ...]:
        options: dict[str, Any] = {"model": self.model, "assignments": self.assignments, "deadline": self.deadline}
        return partial(LazySearcher, **options), (self.index, self.pipeline)

    def load(self) -> Pipeline:
        """Return the pipeline over the newest state of the index; raises as `open_pipeline`."""
        return self._following.current().value

    def _opened(self) -> Pipeline:
        before = self._notes.copy()
        pipeline = open_pipeline(self.index, self._settings, model=self.model, notes=self._notes)
        log_notes(self._notes.since(before))
        return pipeline

    def search(
        self,
        query: str,
        *,
        k: int,
        passages: int,
        filter: Mapping[str, Any] | Filter | None = None,
        fields: Mapping[str, str] = MappingProxyType({}),
    ) -> list[tuple[Result, str, dict[str, Any]]]:
        """Return the `k` best documents that match a filter: result, text, and metadata with the evidence.

        `fields` are other fields of the query, such as its language (``lang``).

        The metadata has the document's other fields, ``title`` if there is a title, and the evidence under `KEY`.

        Time in which another thread searches counts for the deadline.

        Raises:
            InputError: the query is empty, `k` is below 1, a wrong filter, or early stopping with a deadline; or as
                `load`.
        """
        check_at_least("k", k, 1)
        own = Notes()  # of this search alone: each filter is remarked on
        asked = query_text(query, own)
        condition = parsed_filter(filter)
        pipeline = self.load()
        by = None if self.deadline is None else Deadline(self.deadline)
        with self._lock:
            before = self._notes.copy()
            bound = filtered(pipeline, condition, own)
            (within,) = in_language([Query("q", asked, fields)], None, pipeline.index.options, own)
            note_cut_queries(bound, [within], own)
            results, counts = search_within(bound, within, by, k=k, passages=passages, notes=self._notes)
            note_unread_in(results, counts, own)
            log_notes(self._notes.since(before))
            log_notes(own)
        return [
            (result, pipeline.index.document(result.doc_id, metadata=False).text, metadata_of(result, pipeline, counts))
            for result in with_metadata(results, pipeline.index)
        ]


def metadata_of(result: Result, pipeline: Pipeline, counts: Partial | None = None) -> dict[str, Any]:
    """Return the other fields of a result's document, its title, and its evidence under `KEY`.

    If a deadline cut the ranking short, `partial` has its counts, and the score of a document of which nothing was
    read is None.
    """
    unread = counts is not None and result.aggregate is None
    evidence = {
        "doc_id": result.doc_id,
        "score": None if unread else result.score,
        "rank": result.rank,
        "first_stage": result.first_stage,
        "aggregator": None if pipeline.scorer is None else pipeline.settings.aggregate.name,
        "truncated": unread or result.truncated,
        "passages": passages_of(result.passages),
        **({} if counts is None else {"partial": counts.json()}),
    }
    title = {"title": result.title} if result.title else {}
    return {**result.metadata, **title, KEY: evidence}


class SearcherSettings(BaseModel):
    """Settings of a retriever, as a pydantic model for frameworks whose components are models.

    Attributes:
        index: folder of the index.
        pipeline: a shipped pipeline's name or a TOML file; None: ``mixed`` if MiniLM is installed, else ``lexical``.
        model: a Hugging Face name, a folder or an alias; replaces the pipeline's own.
        assignments: ``section.key=value`` on top of the pipeline.
        k: documents to return.
        passages: passages in the evidence of each, best first.
        filter: filter of the documents by metadata, ``{"year": {"$gte": 2020}}``; None: all documents.
        deadline: seconds for a search, after which what is read by then is ranked; loading is not counted. None: all
            is read.
    """

    model_config = ConfigDict(extra="forbid")

    index: str | Path
    pipeline: str | None = None
    model: str | None = None
    assignments: tuple[str, ...] = ()
    k: int = 10
    passages: int = 3
    filter: dict[str, Any] | None = None
    deadline: float | None = None
    _made: LazySearcher | None = PrivateAttr(None)

    def model_post_init(self, context: Any, /) -> None:
        """Check the settings; raises InputError for a pipeline, setting or filter that is unknown or wrong."""
        super().model_post_init(context)
        check_counts("k", self.k, self.passages)
        parsed_filter(self.filter)
        self._made = self._searcher

    @property
    def _searcher(self) -> LazySearcher:
        """Return the searcher of the settings as they are now; raises as `LazySearcher`."""
        self._made = made_with(self, LazySearcher, self._made)
        return self._made
