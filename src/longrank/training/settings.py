"""Settings of a training: one TOML file. The name of its network says what it learns from.

A document network (`longrank.models.DOCUMENT_NETWORKS`) learns from judged rankings of an index's documents, by a
`DocumentTraining`. A passage network (`longrank.training.PASSAGE_NETWORKS`) learns from examples
(`longrank.training.passage_data`), by a `PassageTraining`. docs/training.md and
docs/training-passages.md show a file of each with all its keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from longrank.config import override, read_settings, shipped, validated
from longrank.errors import InputError
from longrank.models import DOCUMENT_NETWORKS
from longrank.registries import suggestion
from longrank.training import PASSAGE_NETWORKS
from longrank.training.loop_settings import LoopSettings, Section
from longrank.training.loss_terms import LossTerm
from longrank.training.schedules import schedule
from longrank.types import Notes

PLACES = ("network.model", "samples.model_run", "teacher.evidence", "teacher.model")
"""Settings of document networks that may name files or folders."""

_SHIPPED = Path(__file__).parent / "protocols"


class NetworkSettings(Section):
    """A document network.

    ``model`` is a pretrained model, or a folder with a document network of this name, which is trained further.
    ``dropout`` replaces every dropout of the network, in the encoder and the head; None keeps the dropouts of the
    model's configuration and the network's options. With ``frozen``, the encoder has no dropout and is not trained:
    only the aggregator learns, and a score cache lets each passage be read once.
    """

    name: str
    model: str = "minilm"
    options: dict[str, Any] = Field(default_factory=dict)
    preset: str | None = None
    dropout: float | None = Field(default=None, ge=0, lt=1)
    frozen: bool = False


class ReadSettings(Section):
    """Passages and lengths that are read of a document, in training and validation alike."""

    passages: str = "parade-paper"
    options: dict[str, Any] = Field(default_factory=dict)
    title: bool = False
    max_tokens: int = Field(default=256, ge=8)
    max_query_tokens: int | None = Field(default=None, ge=1)


class JudgmentSettings(Section):
    """A sample of the judgments of training and dev queries; ``rate`` is the share that is kept."""

    scheme: Literal["deep", "shallow"]
    rate: float = Field(gt=0, le=1)
    seed: int = 0


class SampleSettings(Section):
    """Training samples; ``passages`` and ``keep`` choose the passages that are read of a sample's documents.

    ``model_run`` is the file of the run that ``negatives = "model"`` come from. The other fields from ``negatives`` to
    ``dropped`` are those of `longrank.training.candidates.CandidateOptions`.
    """

    kind: str = "pairs"
    n_negatives: int | None = Field(default=None, ge=1)
    negatives: Literal["run", "random", "model"] = "run"
    model_run: str | None = None
    ranks: list[int] | None = Field(default=None, min_length=2, max_length=2)
    relevance_level: int = Field(default=1, ge=1)
    depth: int = Field(default=1000, ge=1)
    in_run: bool = True
    unjudged: bool = True
    dropped: bool = True
    passages: str = "all"
    keep: float | None = Field(default=None, ge=0, le=1)

    @model_validator(mode="after")
    def _a_models_negatives_and_its_run_belong_together(self) -> SampleSettings:
        if (self.negatives == "model") != (self.model_run is not None):
            raise ValueError('negatives = "model" and model_run, the file of its run, belong together')
        return self


class TeacherSettings(Section):
    """A teacher: an evidence file and its aggregator, or a document network that reads the samples in training.

    The evidence must hold every document of the samples. ``model`` names a document network, whose own outputs are
    learned; it reads the passages of the training.
    """

    evidence: str | None = None
    aggregator: str = "document"
    model: str | None = None

    @model_validator(mode="after")
    def _evidence_or_a_model(self) -> TeacherSettings:
        if (self.evidence is None) == (self.model is None):
            raise ValueError("a teacher is an evidence file (teacher.evidence) or a document network (teacher.model)")
        if self.model is not None and self.aggregator != "document":
            raise ValueError("teacher.aggregator is of teacher.evidence; a network scores documents itself")
        return self

    @model_serializer(mode="wrap")
    def _without_the_other(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {key: value for key, value in handler(self).items() if value is not None}


class ValidationSettings(Section):
    """Measure of the dev queries, whose first ``depth`` documents are reranked."""

    measure: str = "nDCG@20"
    depth: int = Field(default=100, ge=1)


class HeldOutSettings(Section):
    """Documents reranked of each test query; None: as many as in validation."""

    depth: int | None = Field(default=None, ge=1)


class DocumentTraining(Section):
    """Training of a document network on judged rankings."""

    network: NetworkSettings
    read: ReadSettings = ReadSettings()
    judgments: JudgmentSettings | None = None
    samples: SampleSettings = SampleSettings()
    loss: list[LossTerm] = Field(min_length=1)
    teacher: TeacherSettings | None = None
    loop: LoopSettings
    validation: ValidationSettings = ValidationSettings()
    test: HeldOutSettings = HeldOutSettings()


class PassageNetworkSettings(Section):
    """A passage network.

    ``outputs`` (1 or 2) is for cross-encoders; None keeps the head of the model, or adds a head with 1 output.
    ``dropout`` replaces every dropout of the model; None keeps the dropouts of its configuration.
    """

    name: str
    model: str = "minilm"
    outputs: int | None = Field(default=None, ge=1, le=2)
    dropout: float | None = Field(default=None, ge=0, lt=1)


class PassageReadSettings(Section):
    """Longest text, together with its query in a cross-encoder, and longest query."""

    max_tokens: int = Field(default=256, ge=8)
    max_query_tokens: int = Field(default=64, ge=1)


class PassageValidationSettings(Section):
    """Measure of ranking each query's texts, with binary relevance; of doc2query only ``-loss``, minus the loss."""

    measure: str = "RR@10"


class PassageTraining(Section):
    """Training of a passage network on examples."""

    network: PassageNetworkSettings
    read: PassageReadSettings = PassageReadSettings()
    loss: list[LossTerm] = Field(default_factory=list)
    loop: LoopSettings
    validation: PassageValidationSettings = PassageValidationSettings()


Training: TypeAlias = DocumentTraining | PassageTraining


def shipped_protocols() -> list[str]:
    """Return the names of the trainings that come with the package."""
    return shipped(_SHIPPED)


def load_training(training: str | Mapping[str, Any], assignments: Sequence[str] = ()) -> Training:
    """Read the settings of a training.

    Args:
        training: a name of `shipped_protocols`, a TOML file, or the settings as a dict.
        assignments: ``section.key=value``, applied on top.

    Raises:
        InputError: no such name or file, or a setting is unknown or wrong (suggests the nearest).
    """
    if isinstance(training, str):
        data, origin = read_settings("training", _SHIPPED, training, assignments), training
    else:
        data, origin = override(training, assignments), "training"
    network = data["network"].get("name") if isinstance(data.get("network"), dict) else None
    if isinstance(network, str) and network not in DOCUMENT_NETWORKS and network not in PASSAGE_NETWORKS:
        fix = suggestion(network, [*DOCUMENT_NETWORKS, *PASSAGE_NETWORKS])
        raise InputError("unknown network", path=origin, got=network, fix=fix)
    settings: Training
    if isinstance(network, str) and network in PASSAGE_NETWORKS:
        settings = validated(PassageTraining, data, origin)
    else:
        settings = validated(DocumentTraining, data, origin)
    schedule(settings.loop.schedule.name, settings.loop.schedule.options)
    return settings


def note_unread(settings: Training, assignments: Sequence[str], has_folds: bool, notes: Notes) -> None:
    """Note assigned settings that have no effect; an assignment without a value takes a setting away."""
    given = {name.strip(): value.strip() for name, _, value in (part.partition("=") for part in assignments)}
    for name, needed in _unread(settings, has_folds):
        if given.get(name):
            notes.say(f"{name} has no effect {needed}")


def _unread(settings: Training, has_folds: bool) -> Iterator[tuple[str, str]]:
    """Give settings that have no effect, and why."""
    validates = settings.loop.validate_every is not None
    if not validates:
        yield "validation.measure", "without loop.validate_every"
    if isinstance(settings, PassageTraining):
        return
    if not validates and not has_folds:
        yield "validation.depth", "without loop.validate_every"
    if not has_folds:
        yield "test.depth", "without folds"
    if settings.judgments is None:
        yield "samples.dropped", "without [judgments]"
    if settings.samples.negatives == "random" and not settings.samples.in_run:
        yield "samples.depth", 'with samples.negatives = "random" and samples.in_run = false'
    if settings.network.frozen and settings.loop.optimizer.head_learning_rate is not None:
        yield "loop.optimizer.learning_rate", "with network.frozen and head_learning_rate"


def load_document_training(training: str, assignments: Sequence[str] = ()) -> DocumentTraining:
    """Read the settings of a training of a document network.

    Raises:
        InputError: as `load_training`, or the network learns from examples.
    """
    settings = load_training(training, assignments)
    if isinstance(settings, PassageTraining):
        raise InputError("is no document network", path=training, got=settings.network.name)
    return settings
