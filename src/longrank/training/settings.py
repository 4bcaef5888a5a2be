"""What a training is made of: one TOML file.

[network]                      # what is trained: see longrank.models.DOCUMENT_NETWORKS
name = "parade-transformer"
model = "minilm"               # the pretrained model it begins with, or the folder of a document network
[read]                         # what it reads
passages = "parade-paper"      # see longrank.text.segment.PRESETS
max_tokens = 256
[judgments]                    # how many of them it learns from: see longrank.training.judgments; left out: all
scheme = "shallow"
rate = 0.5
[samples]                      # what it learns from: see longrank.training.samples
kind = "pairs"
[[loss]]                       # one or more, added up: see longrank.training.loss_terms
name = "hinge"
[loop]                         # steps, batches, learning rates: see longrank.training.loop_settings
steps = 1000
batch = 16
optimizer = { learning_rate = 3e-6 }
[teacher]                      # for losses that distil: evidence of the samples' documents
evidence = "teacher.run.evidence"
[validation]                   # on the queries of the dev fold
measure = "nDCG@20"
[test]                         # of the queries of the test fold
depth = 100
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from longrank.config import load_settings, shipped
from longrank.training.loop_settings import LoopSettings, Section
from longrank.training.loss_terms import LossTerm

_SHIPPED = Path(__file__).parent / "protocols"


class NetworkSettings(Section):
    """What is trained.

    ``model`` is a pretrained model, or a folder with a document network of this name, which is trained further.
    ``dropout`` replaces every dropout of the network, the encoder's and the head's; None: as the model's configuration
    and the network's options say. A frozen encoder has none. With ``frozen``, what passages are represented by is not
    trained, only the aggregator is; with a score cache, each passage is then read once.
    """

    name: str
    model: str = "minilm"
    options: dict[str, Any] = Field(default_factory=dict)
    preset: str | None = None
    dropout: float | None = Field(default=None, ge=0, lt=1)
    frozen: bool = False


class ReadSettings(Section):
    """What is read of a document, in training and validation alike."""

    passages: str = "parade-paper"
    options: dict[str, Any] = Field(default_factory=dict)
    title: bool = False
    max_tokens: int = Field(default=256, ge=8)
    max_query_tokens: int | None = Field(default=None, ge=1)


class JudgmentSettings(Section):
    """Which judgments are learned from and validated by: about this share of those of the training and dev queries."""

    scheme: Literal["deep", "shallow"]
    rate: float = Field(gt=0, le=1)
    seed: int = 0


class SampleSettings(Section):
    """What is learned from; ``passages`` and ``keep`` say what is read of a sample's documents.

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
    """Whose scores are learned: an evidence file's, aggregated. It must hold every document of the samples."""

    evidence: str
    aggregator: str = "document"


class ValidationSettings(Section):
    """How good the network is: the measure of reranking the dev queries' first ``depth`` documents."""

    measure: str = "nDCG@20"
    depth: int = Field(default=100, ge=1)


class HeldOutSettings(Section):
    """How a fold's test queries are reranked: their first ``depth`` documents; None: as many as in validation."""

    depth: int | None = Field(default=None, ge=1)


class TrainingSettings(Section):
    """A whole training."""

    network: NetworkSettings
    read: ReadSettings = ReadSettings()
    judgments: JudgmentSettings | None = None
    samples: SampleSettings = SampleSettings()
    loss: list[LossTerm] = Field(min_length=1)
    teacher: TeacherSettings | None = None
    loop: LoopSettings
    validation: ValidationSettings = ValidationSettings()
    test: HeldOutSettings = HeldOutSettings()


def shipped_protocols() -> list[str]:
    """Return the names of the trainings that come with the package."""
    return shipped(_SHIPPED)


def load_training(name_or_path: str, assignments: Sequence[str] = ()) -> TrainingSettings:
    """Read a training by its name or from a TOML file, with ``section.key=value`` applied on top.

    Raises:
        InputError: no such name or file, or a setting is unknown or wrong (suggests the nearest).
    """
    return load_settings(TrainingSettings, "training", _SHIPPED, name_or_path, assignments)
