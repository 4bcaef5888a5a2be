"""The pipelines of a server, by name.

Engine(choices, index)    checks the settings, without loading a model
engine.load()             loads the models and scores a first passage; takes seconds
engine.served(name)       returns a pipeline; the first is the default
engine.exchange(index)    binds all pipelines to another snapshot of the index, with the loaded models
"""

from __future__ import annotations

import shlex
import threading
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from longrank.aggregation import AGGREGATORS
from longrank.index import Index
from longrank.index.vector_folders import VectorsDoNotFit
from longrank.protocols import PassageScorer
from longrank.ranking.passages import PassageDocumentScorer
from longrank.ranking.pipeline import Pipeline, open_pipeline
from longrank.ranking.prepared_texts import TextLimits
from longrank.ranking.settings import PipelineSettings, load_pipeline
from longrank.ranking.texts import Reranker
from longrank.retrieval.deferred import Deferred
from longrank.scoring import keeping_models
from longrank.service.served import PipelineChoice, Served, check_choice, names_of
from longrank.service.served_store import ServedStore
from longrank.service.units import tokens_of
from longrank.types import Notes, Query

_TITLES, _LONGEST_TITLE = 50, 80  # documents whose titles may be an example of a query; characters
_BEGIN = 200  # characters of a document that are the first query
_SAMPLE = "Long documents are read whole, passage by passage. " * 300


class Engine:
    """The served pipelines, and the index, if there is one.

    Args:
        choices: the pipelines; the first is the default.
        index: the index to search; None: the server only reranks texts.
        assignments: ``section.key=value`` for every pipeline.
        notes: collects remarks.
        store: a store to search instead of an index; None: there is none.

    Attributes:
        is_behind: true if the newest state of the index could not be opened, so that searches use the state before.

    Raises:
        InputError: a pipeline is unknown, wrong, or named twice; or a model's folder has no model.
        MissingExtra: a model's package is not installed.
    """

    def __init__(
        self,
        choices: Sequence[PipelineChoice],
        index: Index | None,
        *,
        assignments: Sequence[str] = (),
        notes: Notes,
        store: ServedStore | None = None,
    ) -> None:
        self.store = store
        self._place = store.source if store else str(index.place) if index else ""  # as the server was started with
        self._choices, self._assignments, self._notes = list(choices), list(assignments), notes
        self._settings = [load_pipeline(choice.pipeline, assignments) for choice in self._choices]
        self._names = names_of(self._choices)
        self._reopening = threading.Lock()
        self.is_behind = False
        self._state: tuple[Index | None, dict[str, Served]] = (index, {})  # replaced as a whole
        self._models: dict[str, dict[Any, PassageScorer]] = {name: {} for name in self._names}
        for choice, settings in zip(self._choices, self._settings, strict=True):
            check_choice(choice, settings, searches=self.searches)

    @property
    def searches(self) -> bool:
        """True if there is an index or a store to search."""
        return self._state[0] is not None or self.store is not None

    @property
    def ready(self) -> bool:
        """True if all pipelines are loaded."""
        return len(self._state[1]) == len(self._choices)

    @property
    def index(self) -> Index | None:
        """The index that new requests use; a request that has begun uses the index of its pipeline."""
        return self._state[0]

    @property
    def index_name(self) -> str | None:
        """The name for clients of the index, its folder's, or of the store."""
        if self.store is not None:
            return self.store.name
        index = self.index
        if index is None:
            return None
        return index.path.resolve().name if isinstance(index.place, Path) else index.place.rpartition("/")[2]

    def load(self) -> None:
        """Load all models, and score a passage with each, so that the first request is not slow.

        Raises:
            InputError, MissingExtra, IntegrityError: as `open_pipeline` and `Reranker`.
        """
        try:
            self._load_all()
        except VectorsDoNotFit:
            index = self.index
            if index is None or (newest := Index(index.location)).digest == index.digest:
                raise
            self._state = (newest, {})  # vectors of a newer state were stored meanwhile
            self._load_all()

    def _load_all(self) -> None:
        loaded = {}
        for name, choice, settings in zip(self._names, self._choices, self._settings, strict=True):
            loaded[name] = self._load(name, choice, settings)
        self._state = (self.index, loaded)

    def reopen(self) -> Notes:
        """Open the newest state of the index, and let new requests use it; see `exchange`.

        Raises:
            LongRankError: as `Index` and `exchange`; the old index stays in use.
        """
        with self._reopening:
            index = self.index
            assert index is not None
            try:
                notes = self.exchange(Index(index.location))
            except BaseException:
                self.is_behind = True
                raise
            self.is_behind = False
            return notes

    def exchange(self, index: Index) -> Notes:
        """Let new requests use another snapshot of the index; requests in flight finish on the snapshot that they have.

        All pipelines are exchanged together, or none if there is an error. Models stay loaded. Call it in a thread of
        its own: it runs no network.

        Returns:
            Remarks: stored vectors that do not fit.

        Raises:
            LongRankError: as `open_pipeline`, or stored vectors of a first stage do not fit.
        """
        notes, exchanged = Notes(), {}
        for name, old in self._state[1].items():
            with keeping_models(self._models[name]):
                pipeline = open_pipeline(index, old.settings, model=old.model, notes=notes)
                if isinstance(pipeline.retriever, Deferred):
                    pipeline.retriever.open()
                else:
                    pipeline.retriever.retrieve(_first_query(index), 1)
            exchanged[name] = replace(
                old, pipeline=pipeline, reranker=None if old.reranker is None else Reranker(pipeline)
            )
        self._state = (index, exchanged)
        return notes

    def bind(self, served: Served, text: str, k: int, notes: Notes) -> Pipeline | None:
        """Return a pipeline on the store's candidates for a query; None: there are none. As `ServedStore.bind`."""
        assert self.store is not None
        return self.store.bind(text, served.settings, served.model, self._models[served.name], k=k, notes=notes)

    def served(self, name: str | None = None) -> Served:
        """Return a pipeline by its name; None: the default.

        Raises:
            KeyError: no pipeline has this name.
        """
        served = self._state[1]
        return next(iter(served.values())) if name is None else served[name]

    def reranks(self, name: str | None = None) -> Served | None:
        """Return the pipeline of this name if it reranks texts, else None; without a name the first that does.

        If the first has a mix, a pipeline with its scorer alone goes before it: mixed scores compare the texts of a
        single request only.
        """
        served = self._state[1]
        named = served.get(name or "")
        if name:
            return named if named is not None and named.reranks else None
        reranking = [item for item in served.values() if item.reranks]
        alone = (item for item in reranking if item.settings.mix is None and item.scorer == reranking[0].scorer)
        return next(alone, reranking[0]) if reranking else None

    def names(self) -> list[str]:
        """Return the names of the pipelines, the default first."""
        return list(self._names)

    def describe(self) -> dict[str, Any]:
        """Return index, pipelines and aggregators for ``/info``."""
        index, served = self._state
        described = None if index is None else self._describe(index)
        of_store = {} if self.store is None else {"first_stage": self.store.kind, "searches": True}
        return {
            "index": described if self.store is None else self.store.describe(),
            "pipelines": [{**item.describe(), **of_store, "default": n == 0} for n, item in enumerate(served.values())],
            "aggregators": simple_aggregators(),
        }

    def _describe(self, index: Index) -> dict[str, Any]:
        fields = [] if index.stored is None else list(index.stored.fields)
        described = {"name": self.index_name, "digest": index.digest, "n_docs": len(index), "fields": fields}
        return {**described, "example": _example(index)}

    def command(self, served: Served, query: str, k: int, passages: int, more: Sequence[str] = ()) -> str:
        """Return the command line of a search; `more` are further options."""
        assert self.searches
        choice = self._choices[self._names.index(served.name)]
        options = ["--pipeline", choice.pipeline, *(["--model", choice.model] if choice.model else [])]
        options += [word for assignment in self._assignments for word in ("--set", assignment)]
        options += ["-k", str(k), "--passages", str(passages), *more]
        arguments = [self._place, query]
        ordered = [*options, "--", *arguments] if query.startswith("-") else [*arguments, *options]
        return shlex.join(["longrank", "search", *ordered])

    def _load(self, name: str, choice: PipelineChoice, settings: PipelineSettings) -> Served:
        pipeline, reranker, notes = None, None, Notes()
        if self.index is not None:
            with keeping_models(self._models[name]):
                pipeline = open_pipeline(self.index, settings, model=choice.model, notes=notes)
            if isinstance(pipeline.scorer, PassageDocumentScorer):
                reranker = Reranker(pipeline)
        elif settings.scorer is not None:
            with keeping_models(self._models[name]):
                reranker = Reranker(settings, model=choice.model, notes=notes)
        self._notes.merge(notes)  # without notes about the queries below
        if pipeline is not None:
            pipeline.retriever.retrieve(_first_query(pipeline.index), 1)
        if reranker is None:
            return Served(name, settings, choice.model, pipeline, None, 1.0)
        prepared = reranker.prepare("long documents", [_SAMPLE], TextLimits())
        texts = [text for task in prepared.block.tasks for text in task.texts]
        read = sum(map(len, texts))
        reranker.rank("long documents", [_SAMPLE[:500]])
        overlap = max(1.0, read / len(_SAMPLE))
        return Served(name, settings, choice.model, pipeline, reranker, overlap, tokens_of(*texts) // len(texts))


def _first_query(index: Index) -> Query:
    """Return a query that a document matches: its search compiles all that later searches need."""
    queries = (Query("q", f"{document.text[:_BEGIN]}\n{document.title}") for document in islice(index, _TITLES))
    return next(filter(index.query_terms, queries), Query("q", "long documents"))


def _example(index: Index) -> str:
    """Return an example of a query: the first short title among the first documents; empty if there is none."""
    titles = (" ".join(document.title.split()) for document in islice(index, _TITLES))
    return next((title for title in titles if 0 < len(title) <= _LONGEST_TITLE), "")


def simple_aggregators() -> list[str]:
    """Return the aggregators of passage scores that need no options."""
    return [name for name, entry in AGGREGATORS.items() if not entry.needs_document_score and not entry.example]
