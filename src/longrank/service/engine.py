"""The pipelines that a server offers, by name: each with what it searches with and what it reranks texts with.

Engine(wanted, index)     checks what can be checked without loading a model
engine.load()             loads them and scores a first passage; takes seconds
engine.served(name)       one of them; the first is the default
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from longrank.aggregation import AGGREGATORS, make_aggregator
from longrank.config import suggestion
from longrank.errors import InputError
from longrank.index import Index
from longrank.networks.model_files import find_model
from longrank.ranking.passages import PassageDocumentScorer
from longrank.ranking.pipeline import Pipeline, open_pipeline
from longrank.ranking.settings import PipelineSettings, load_pipeline
from longrank.ranking.texts import TextLimits, TextReranker, open_text_reranker
from longrank.scoring import scorer_class
from longrank.types import Notes, Query

_SAMPLE = "Long documents are read whole, passage by passage. " * 300


class Wanted(NamedTuple):
    """A pipeline to serve: a shipped one's name or a TOML file, and the model that replaces its own."""

    pipeline: str
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Served:
    """A pipeline that is served.

    Attributes:
        name: what clients call it.
        settings: its settings.
        model: the model that was named for it.
        pipeline: searches the index; None without one.
        reranker: reranks texts; None where the pipeline has no passage scorer.
        overlap: characters that are read for each character of a document; passages overlap.
    """

    name: str
    settings: PipelineSettings
    model: str | None
    pipeline: Pipeline | None
    reranker: TextReranker | None
    overlap: float

    def describe(self) -> dict[str, Any]:
        """Return what clients may know of it."""
        scorer = self.settings.scorer
        return {
            "name": self.name,
            "first_stage": None if self.pipeline is None else self.settings.first_stage.preset,
            "scorer": None if scorer is None else scorer.name,
            "model": None if scorer is None else _name_of(self.model or scorer.model),
            "unit": None if self.reranker is None else self.reranker.unit,
            "aggregator": None if self.reranker is None else self.reranker.aggregator_name,
            "searches": self.pipeline is not None,
            "reranks": self.reranker is not None,
        }


class Engine:
    """All that is served, and the index, if there is one.

    Args:
        wanted: the pipelines; the first is the default.
        index: what is searched; None: only texts that come with a query are reranked.
        assignments: ``section.key=value`` for every pipeline.
        notes: what was decided on the user's behalf.

    Raises:
        InputError: a pipeline is unknown, wrong, or named twice; or a model's folder is no model.
        MissingExtra: a model's package is not installed.
    """

    def __init__(
        self, wanted: Sequence[Wanted], index: Index | None, *, assignments: Sequence[str] = (), notes: Notes
    ) -> None:
        self.index, self._wanted, self._assignments, self._notes = index, list(wanted), list(assignments), notes
        self._settings = [load_pipeline(one.pipeline, assignments) for one in self._wanted]
        self._names = _names(self._wanted)
        self._served: dict[str, Served] = {}
        for one, settings in zip(self._wanted, self._settings, strict=True):
            _check(one, settings, index)

    @property
    def ready(self) -> bool:
        """Whether all is loaded."""
        return len(self._served) == len(self._wanted)

    @property
    def index_name(self) -> str | None:
        """What clients call the index: its folder's name."""
        return None if self.index is None else self.index.path.resolve().name

    def load(self) -> None:
        """Load all models, and score a passage with each, so that the first request is not slow.

        Raises:
            InputError, MissingExtra, IntegrityError: as `open_pipeline` and `open_text_reranker`.
        """
        loaded = {}
        for name, one, settings in zip(self._names, self._wanted, self._settings, strict=True):
            loaded[name] = self._load(name, one, settings)
        self._served = loaded

    def served(self, name: str | None = None) -> Served:
        """Return a pipeline by its name, the default one without.

        Raises:
            KeyError: there is none of this name.
        """
        return next(iter(self._served.values())) if name is None else self._served[name]

    def reranks(self, name: str | None = None) -> Served | None:
        """Return the pipeline of this name that reranks texts, or the first that does; None: there is none."""
        named = self._served.get(name or "")
        if named is not None and named.reranker is not None:
            return named
        return next((one for one in self._served.values() if one.reranker is not None), None) if not name else None

    def names(self) -> list[str]:
        """Return the names of what is served, the default first."""
        return list(self._names)

    def describe(self) -> dict[str, Any]:
        """Return what clients may know: index, pipelines and aggregators."""
        return {
            "index": None if self.index is None else {"name": self.index_name, "n_docs": len(self.index)},
            "pipelines": [{**one.describe(), "default": n == 0} for n, one in enumerate(self._served.values())],
            "aggregators": simple_aggregators(),
        }

    def command(self, served: Served, query: str, k: int, passages: int) -> str:
        """Return the command line that searches as a request did."""
        assert self.index is not None
        wanted = self._wanted[self._names.index(served.name)]
        options = ["--pipeline", wanted.pipeline, *(["--model", wanted.model] if wanted.model else [])]
        options += [word for one in self._assignments for word in ("--set", one)]
        options += ["-k", str(k), "--passages", str(passages)]
        what = [str(self.index.path), query]
        ordered = [*options, "--", *what] if query.startswith("-") else [*what, *options]  # it is no option
        return shlex.join(["longrank", "search", *ordered])

    def _load(self, name: str, wanted: Wanted, settings: PipelineSettings) -> Served:
        pipeline, reranker = None, None
        if self.index is not None:
            pipeline = open_pipeline(self.index, settings, model=wanted.model, notes=self._notes)
            pipeline.retriever.retrieve(Query("q", "long documents"), 1)
            if isinstance(pipeline.scorer, PassageDocumentScorer):
                reranker = TextReranker(pipeline.scorer, pipeline.aggregator, settings.aggregate.name)
        else:
            reranker = open_text_reranker(settings, model=wanted.model, notes=self._notes)
        if reranker is None:
            return Served(name, settings, wanted.model, pipeline, None, 1.0)
        prepared = reranker.prepare("long documents", [_SAMPLE], TextLimits())
        read = sum(len(text) for task in prepared.block.tasks for text in task.texts)
        reranker.rank("long documents", [_SAMPLE[:500]])
        return Served(name, settings, wanted.model, pipeline, reranker, max(1.0, read / len(_SAMPLE)))


def simple_aggregators() -> list[str]:
    """Return the aggregators of passages that need no options, so that any request may name them."""
    found = []
    for name in (one for one in AGGREGATORS if one != "document"):
        try:
            make_aggregator(name)
        except InputError:
            continue
        found.append(name)
    return found


def _names(wanted: Sequence[Wanted]) -> list[str]:
    """Name each pipeline, a file without its folder; a second of the same name is told apart by its model."""
    names: list[str] = []
    for one in wanted:
        own = Path(one.pipeline).stem if one.pipeline.endswith(".toml") else one.pipeline
        name = f"{own}={_name_of(one.model)}" if own in names and one.model else own
        if name in names:
            raise InputError(
                "a pipeline is named twice", got=name, fix="name it once, with another model, or as another file"
            )
        names.append(name)
    return names


def _name_of(model: str | None) -> str | None:
    """Return what clients may know of a model: of a folder on this machine its last part."""
    return model if model is None or not Path(model).is_dir() else Path(model).resolve().name


def _check(wanted: Wanted, settings: PipelineSettings, index: Index | None) -> None:
    scorer = settings.scorer
    if scorer is None and index is None:
        raise InputError("this pipeline has no passage scorer: without an index it can do nothing", got=wanted.pipeline)
    if scorer is None and wanted.model is not None:
        raise InputError(f"pipeline '{wanted.pipeline}' has no passage scorer, so it takes no model", got=wanted.model)
    if settings.stop is not None:
        raise InputError("a server does not stop early", got="stop", fix="leave [stop] out of the pipeline")
    model = wanted.model or (None if scorer is None else scorer.model)
    if model is not None:
        find_model(model)
    elif scorer is not None and scorer_class(scorer.name).needs_model and scorer.without_model is None:
        fix = f"name one: --pipeline {wanted.pipeline}=MODEL"
        raise InputError(f"the {scorer.name} of pipeline '{wanted.pipeline}' needs a model", fix=fix)


def unknown_pipeline(name: str, names: Sequence[str]) -> str:
    """Return what to say of a name that no pipeline has."""
    return f"unknown pipeline '{name[:100]}'; {suggestion(name[:100], dict.fromkeys(names))}"
