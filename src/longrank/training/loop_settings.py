"""Settings of the training loop: sections of a training's TOML file; no torch."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Section(BaseModel):
    """A section of settings: frozen, strict, without unknown keys or infinite numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class OptimizerSettings(Section):
    """Adam or AdamW; weight decay applies to matrices only, not to biases and norms, as in BERT's code.

    ``head_learning_rate`` is for all weights outside the encoder; None: ``learning_rate``. Adam adds the decay to the
    gradient (L2), AdamW takes it from the weights.
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
    """Steps, batches, validations and checkpoints; a step is one change of the weights.

    Attributes:
        steps: number of steps, T; ``batch``: instances per step, over all processes.
        micro_batch: instances that go through the network at once; None: all of a process's.
        precision: of products: ``no`` (float32), ``bf16``, ``fp16`` with scaled losses (CUDA only), or ``auto``: bf16
            where the device has instructions for it, else float32. Weights, losses and the optimizer are float32.
        gradient_checkpointing: compute activations again instead of keeping them: less memory, a quarter more time.
        clip: maximum length of the gradient.
        validate_every: steps between validations; the best weights are kept. None: the last weights are kept.
        patience: validations without improvement after which the training ends; None: it never ends early.
        checkpoint_every: steps between checkpoints; each validation and the end make a checkpoint, too.
    """

    seed: int = Field(default=0, ge=0, lt=2**63)
    steps: int = Field(ge=1)
    batch: int = Field(ge=1)
    micro_batch: int | None = Field(default=None, ge=1)
    precision: Literal["no", "bf16", "fp16", "auto"] = "no"
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
        """Tell whether a validation follows after `step` steps."""
        return self.validate_every is not None and (step % self.validate_every == 0 or step == self.steps)

    def saves_after(self, step: int) -> bool:
        """Tell whether a checkpoint follows after `step` steps, apart from the checkpoints of validations."""
        return step == self.steps or (self.checkpoint_every is not None and step % self.checkpoint_every == 0)

    def identity(self) -> dict[str, Any]:
        """Return the settings that the result depends on."""
        return self.model_dump(exclude={"checkpoint_every"})
