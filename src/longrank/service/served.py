"""Pipelines to serve: as an operator names them, and loaded, by their names for clients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from longrank.errors import InputError
from longrank.networks.model_files import find_model
from longrank.ranking.pipeline import Pipeline
from longrank.ranking.settings import PipelineSettings
from longrank.ranking.texts import Reranker
from longrank.registries import suggestion
from longrank.scoring import scorer_class


class PipelineChoice(NamedTuple):
    """A pipeline to serve.

    Attributes:
        pipeline: a shipped pipeline's name or a TOML file.
        model: the model that replaces its own.
        name: its name for clients; None: that of the file or the pipeline.
    """

    pipeline: str
    model: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Served:
    """A loaded pipeline.

    Attributes:
        name: its name for clients.
        settings: its settings.
        model: the model that replaces its own.
        pipeline: searches the index; None without an index.
        reranker: reranks texts; None if the pipeline has no passage scorer.
        overlap: characters read per character of a document; more than 1 where passages overlap.
        passage_tokens: estimated tokens of a passage.
    """

    name: str
    settings: PipelineSettings
    model: str | None
    pipeline: Pipeline | None
    reranker: Reranker | None
    overlap: float
    passage_tokens: int = 0

    @property
    def reranks(self) -> bool:
        """True if it reranks texts."""
        return self.reranker is not None

    @property
    def scorer(self) -> tuple[str, str | None] | None:
        """Name and model of the passage scorer; None if there is none."""
        scorer = self.settings.scorer
        return None if scorer is None else (scorer.name, self.model or scorer.model)

    def describe(self) -> dict[str, Any]:
        """Return the entry of ``/info``."""
        name, model = self.scorer or (None, None)
        return {
            "name": self.name,
            "about": self.settings.about,
            "first_stage": None if self.pipeline is None else self.settings.first_stage.preset,
            "scorer": name,
            "model": _name_of(model),
            "unit": None if self.reranker is None else self.reranker.unit,
            "aggregator": None if self.reranker is None else self.reranker.aggregator_name,
            "searches": self.pipeline is not None,
            "reranks": self.reranks,
        }


def names_of(choices: Sequence[PipelineChoice]) -> list[str]:
    """Return the pipelines' names: a file's without its folder, and with the model where a name comes twice.

    Raises:
        InputError: a name comes twice all the same.
    """
    names: list[str] = []
    for pipeline, model, given in choices:
        stem = Path(pipeline).stem if pipeline.endswith(".toml") else pipeline
        name = given or (f"{stem}={_name_of(model)}" if stem in names and model else stem)
        if name in names:
            raise InputError("a pipeline is named twice", got=name, fix="use another model or another file")
        names.append(name)
    return names


def _name_of(model: str | None) -> str | None:
    """Return a model's name for clients: only the last part of a folder's path."""
    return model if model is None or not Path(model).is_dir() else Path(model).resolve().name


def check_choice(choice: PipelineChoice, settings: PipelineSettings, *, searches: bool) -> None:
    """Refuse a pipeline that cannot be served; `searches`: there is an index or a store.

    Raises:
        InputError: it needs an index or a model, takes no model, stops early, or its model's folder has no model.
        MissingExtra: its scorer's package is not installed.
    """
    scorer = settings.scorer
    if scorer is None and not searches:
        raise InputError("this pipeline has no passage scorer, so it needs an index", got=choice.pipeline)
    if scorer is None and choice.model is not None:
        raise InputError(f"pipeline '{choice.pipeline}' has no passage scorer, so it takes no model", got=choice.model)
    if settings.stop is not None:
        raise InputError("the server has no early stopping", got="stop", fix="remove [stop] from the pipeline")
    model = choice.model or (None if scorer is None else scorer.model)
    if model is not None:
        find_model(model)
    elif scorer is not None and scorer_class(scorer.name).needs_model and scorer.without_model is None:
        fix = f"use --pipeline {choice.pipeline}=MODEL"
        raise InputError(f"the {scorer.name} of pipeline '{choice.pipeline}' needs a model", fix=fix)


def unknown_pipeline(name: str, names: Sequence[str]) -> str:
    """Return the message for a name that no pipeline has."""
    return f"unknown pipeline '{name[:100]}'; {suggestion(name[:100], dict.fromkeys(names))}"
