"""Schedules of learning rates: pure functions of the step; no torch.

A schedule gives a factor for the encoder's and the head's learning rate at step t = 0, 1, ..., T - 1. Epochs are
`epoch_steps` long and count from 0.

    constant         1
    linear           up to 1, then a line to 0 at T (BertAdam: Birch; Hugging Face: Santos)
    linear-bert      up to 1, then the line that leads from 1 at step 0 to 0 at T: a drop after the warm-up
                     (Google's BERT: Dai and Callan, standalone PARADE with BERT, monoBERT)
    linear-electra   that line times the warm-up (Google's ELECTRA: standalone PARADE with ELECTRA)
    maxp             per epoch; the head warms up, then both decay (MaxP-Reproduction)
    capreolus-epoch  the same factors for the encoder, 1 for the head (Capreolus d7d2631)
    capreolus        per step, then a decay that counts from the end of the warm-up (Capreolus since; PARADE)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from longrank.config import validated
from longrank.registries import lookup
from longrank.training.loop_settings import Section


class Factors(NamedTuple):
    """Factors of the learning rates."""

    encoder: float
    head: float


class Schedule(Section, ABC):
    """A schedule and its options."""

    @abstractmethod
    def factors(self, step: int, steps: int) -> Factors:
        """Return the factors of step t = `step` of T = `steps`."""


class Constant(Schedule):
    """1 at any step."""

    def factors(self, step: int, steps: int) -> Factors:  # noqa: D102
        return Factors(1.0, 1.0)


class Linear(Schedule):
    """t / w below w = warmup T, then (T - t) / (T - w)."""

    warmup: float = Field(default=0.1, ge=0, lt=1)

    def factors(self, step: int, steps: int) -> Factors:  # noqa: D102
        warm = self.warmup * steps
        return _both(step / warm if step < warm else (steps - step) / (steps - warm))


class LinearBert(Linear):
    """t / w below w = floor(warmup T), then 1 - t / T."""

    def factors(self, step: int, steps: int) -> Factors:  # noqa: D102
        warm = int(self.warmup * steps)
        return _both(step / warm if step < warm else 1 - step / steps)


class LinearElectra(Linear):
    """min(1, t / w) (1 - t / T) with w = warmup T."""

    def factors(self, step: int, steps: int) -> Factors:  # noqa: D102
        warm = self.warmup * steps
        return _both((min(1.0, step / warm) if warm else 1.0) * (1 - step / steps))


class MaxP(Schedule):
    """(1, min((e + 1) / w, 1)) up to the epoch e = w = warmup, then both 1 / (1 + decay e).

    The decay counts from epoch 0, so both fall at once from 1 to 1 / (1 + decay (w + 1)); with 8 and .1, to .526.
    """

    epoch_steps: int = Field(ge=1)
    warmup: int = Field(default=8, ge=0)
    decay: float = Field(default=0.1, ge=0)

    def factors(self, step: int, steps: int) -> Factors:  # noqa: D102
        epoch = step // self.epoch_steps
        if epoch > self.warmup:
            return _both(1 / (1 + self.decay * epoch))
        return Factors(1.0, _warm(epoch, self.warmup))


class CapreolusEpoch(MaxP):
    """min((e + 1) / w, 1) up to the epoch e = w = warmup, then 1 / (1 + decay e); always 1 for the head."""

    def factors(self, step: int, steps: int) -> Factors:  # noqa: D102
        epoch = step // self.epoch_steps
        decayed = epoch > self.warmup
        return Factors(1 / (1 + self.decay * epoch) if decayed else _warm(epoch, self.warmup), 1.0)


class Capreolus(Schedule):
    """min((t + 1) / w, 1) up to w = `warmup` epochs, then the decay; 1 for the head.

    Attributes:
        decay: for the kind ``linear``, 1 / (1 + decay x), x epochs (a fraction) after the warm-up; for the kind
            ``exponential``, decay^(x / decay_epochs), at most 1.
        head: the head's rate follows the encoder's.
    """

    epoch_steps: int = Field(ge=1)
    warmup: float = Field(default=8.0, ge=0)
    decay: float = Field(default=0.1, gt=0)
    kind: Literal["linear", "exponential"] = "linear"
    decay_epochs: float = Field(default=1.0, gt=0)
    head: bool = False

    @model_validator(mode="after")
    def _falls(self) -> Self:
        if self.kind == "exponential" and self.decay > 1:
            raise ValueError("the rate would rise: decay is at most 1 where kind is exponential")
        return self

    def factors(self, step: int, steps: int) -> Factors:  # noqa: D102
        factor = self._factor(step)
        return Factors(factor, factor if self.head else 1.0)

    def _factor(self, step: int) -> float:
        since = step / self.epoch_steps - self.warmup
        if since <= 0:
            return _warm(step, self.warmup * self.epoch_steps)
        return 1 / (1 + self.decay * since) if self.kind == "linear" else self.decay ** (since / self.decay_epochs)


SCHEDULES: dict[str, type[Schedule]] = {
    "constant": Constant,
    "linear": Linear,
    "linear-bert": LinearBert,
    "linear-electra": LinearElectra,
    "maxp": MaxP,
    "capreolus-epoch": CapreolusEpoch,
    "capreolus": Capreolus,
}
"""The schedules by name."""


def schedule(name: str, options: Mapping[str, Any] | None = None) -> Schedule:
    """Return a schedule.

    Raises:
        InputError: no such schedule or option; an option is missing, of the wrong type or out of range.
    """
    return validated(lookup(SCHEDULES, name, "schedule"), options or {}, f"schedule {name}")


def _both(factor: float) -> Factors:
    return Factors(float(factor), float(factor))


def _warm(done: float, of: float) -> float:
    """Return the factor of the warm-up: (done + 1) / of, at most 1."""
    return min((done + 1) / of, 1.0) if of else 1.0
