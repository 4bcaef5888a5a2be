"""What a training of a passage model is made of: one TOML file.

[network]
name = "cross-encoder"         # what is trained: see longrank.training.passage_training.PASSAGE_TASKS
model = "minilm"               # the pretrained model it begins with
[read]
max_tokens = 256
[[loss]]                       # one or more, added up: see longrank.training.loss_terms
name = "cross-entropy"
[loop]                         # steps, batches, learning rates: see longrank.training.loop_settings
steps = 1000
batch = 16
optimizer = { learning_rate = 1e-5 }
[validation]                   # of the texts of each query of --dev
measure = "AP"
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from longrank.config import load_settings, shipped
from longrank.training.loop_settings import LoopSettings, Section
from longrank.training.loss_terms import LossTerm

_SHIPPED = Path(__file__).parent / "passage_protocols"


class PassageNetworkSettings(Section):
    """What is trained, and what it begins with.

    ``outputs`` is of a cross-encoder's head, 1 or 2; without it, the model's own head is kept, or a new one has 1.
    ``dropout`` replaces every dropout of the model; None: as its configuration says.
    """

    name: str
    model: str = "minilm"
    outputs: int | None = Field(default=None, ge=1, le=2)
    dropout: float | None = Field(default=None, ge=0, lt=1)


class PassageReadSettings(Section):
    """What is read of a text, with the query where both are read together; and of the query."""

    max_tokens: int = Field(default=256, ge=8)
    max_query_tokens: int = Field(default=64, ge=1)


class PassageValidationSettings(Section):
    """How good the model is: the measure of ranking the texts of each query, of binary relevance.

    Of doc2query it is ``-loss``, minus the loss, and nothing else.
    """

    measure: str = "RR@10"


class PassageTrainingSettings(Section):
    """A whole training."""

    network: PassageNetworkSettings
    read: PassageReadSettings = PassageReadSettings()
    loss: list[LossTerm] = Field(default_factory=list)
    loop: LoopSettings
    validation: PassageValidationSettings = PassageValidationSettings()


def shipped_passage_protocols() -> list[str]:
    """Return the names of the trainings that come with the package."""
    return shipped(_SHIPPED)


def load_passage_training(name_or_path: str, assignments: Sequence[str] = ()) -> PassageTrainingSettings:
    """Read a training by its name or from a TOML file, with ``section.key=value`` applied on top.

    Raises:
        InputError: no such name or file, or a setting is unknown or wrong (suggests the nearest).
    """
    return load_settings(PassageTrainingSettings, "training of passages", _SHIPPED, name_or_path, assignments)
