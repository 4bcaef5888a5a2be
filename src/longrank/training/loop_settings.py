"""How a network is trained, whatever it learns from; no torch. Sections of a training's TOML file."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Section(BaseModel):
    """A part of a training's settings: nothing unknown or infinite, nothing converted, nothing changed later."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class OptimizerSettings(Section):
    """Adam or AdamW; weight decay is for matrices only, never for biases and norms, as in BERT's code.

    ``head_learning_rate`` is that of what is not the encoder, ``learning_rate`` unless it is given. Adam adds
    the decay to the gradient (L2), AdamW takes it from the weights.
    """

    name: Literal["adam", "adamw"] = "adamw"
    learning_rate: float = Field(gt=0)
    head_learning_rate: float | None = Field(default=None, gt=0)
    weight_decay: float = Field(default=0.0, ge=0)
    beta1: float = Field(default=0.9, ge=0, lt=1)
    beta2: float = Field(default=0.999, ge=0, lt=1)
    eps: float = Field(default=1e-8, gt=0)


class ScheduleSettings(Section):
    """A schedule of `longrank.training.schedules.SCHEDULES` and its options."""

    name: str = "constant"
    options: dict[str, Any] = {}


class LoopSettings(Section):
    """Steps, batches, and what happens between them; a step is one change of the weights.

    Attributes:
        steps: T, how many; ``batch``: instances of each, over all processes.
        micro_batch: most instances that go through the network at once; None: all of a process's.
        precision: of products: ``no`` (float32), ``bf16``, or ``fp16`` with scaled losses (CUDA only). Weights,
            losses and the optimizer are float32.
        gradient_checkpointing: activations are computed again instead of kept: less memory, a quarter more time.
        clip: longest gradient; longer ones are shortened to it.
        validate_every: steps; the best weights are kept. None: never, the last weights are kept.
        patience: validations without a better one after which the training ends; None: it never ends early.
        checkpoint_every: steps between checkpoints; there is one at each validation and at the end, too.
    """

    seed: int = Field(default=0, ge=0, lt=2**63)
    steps: int = Field(ge=1)
    batch: int = Field(ge=1)
    micro_batch: int | None = Field(default=None, ge=1)
    precision: Literal["no", "bf16", "fp16"] = "no"
    gradient_checkpointing: bool = False
    clip: float | None = Field(default=None, gt=0)
    validate_every: int | None = Field(default=None, ge=1)
    patience: int | None = Field(default=None, ge=1)
    checkpoint_every: int | None = Field(default=None, ge=1)
    optimizer: OptimizerSettings
    schedule: ScheduleSettings = ScheduleSettings()

    @model_validator(mode="after")
    def _patience_needs_validation(self) -> LoopSettings:
        if self.patience is not None and self.validate_every is None:
            raise ValueError("patience needs validate_every")
        return self

    def validates_after(self, step: int) -> bool:
        """Say whether there is a validation when `step` steps are done."""
        return self.validate_every is not None and (step % self.validate_every == 0 or step == self.steps)

    def saves_after(self, step: int) -> bool:
        """Say whether there is a checkpoint when `step` steps are done, validation or not."""
        return step == self.steps or (self.checkpoint_every is not None and step % self.checkpoint_every == 0)

    def identity(self) -> dict[str, Any]:
        """Return all settings on which the result depends."""
        return self.model_dump(exclude={"checkpoint_every"})
