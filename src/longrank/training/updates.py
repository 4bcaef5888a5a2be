"""Training steps: the gradient of a batch, over micro-batches and processes, and the change of the weights.

Step t sees the instances t B, ..., t B + B - 1. Micro-batches are weighted by their size, so the gradient is that of
the batch's mean loss. Draws in a step (dropout) are a function of the seed, the step and the process, so a resumed
training repeats them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import torch

from longrank.draws import below
from longrank.errors import InputError, LongRankError
from longrank.models.network import DocumentNetwork
from longrank.networks.acceleration import multiplies_bf16
from longrank.training.dense import use_onednn
from longrank.training.loop_settings import LoopSettings, OptimizerSettings
from longrank.training.ranks import Ranks
from longrank.training.schedules import Factors, schedule

ENCODER, HEAD = "encoder", "head"
_DIVERGED = "it has diverged: lower the learning rate, or set loop.clip, and begin a new folder"


class Learner(Protocol):
    """A network with a loss."""

    @property
    def network(self) -> torch.nn.Module:
        """The network to train."""
        ...

    def loss(self, instances: Sequence[int]) -> torch.Tensor:
        """Return the mean loss over the instances of these numbers."""
        ...


class Step(NamedTuple):
    """A step's mean loss, its learning rates, and the gradient's length before clipping.

    A rate is None if no such weights are trained; the length is None if scaled half-precision gradients overflowed, so
    that the step was skipped.
    """

    loss: float
    encoder_rate: float | None
    head_rate: float | None
    gradient_norm: float | None


class Updates:
    """The optimizer and the loss scale; does steps by settings that `check_possible` accepts."""

    def __init__(self, task: Learner, settings: LoopSettings, ranks: Ranks) -> None:
        self._task, self._settings, self._ranks = task, settings, ranks
        self._schedule = schedule(settings.schedule.name, settings.schedule.options)
        if settings.gradient_checkpointing:
            _recompute_activations(task.network)
        use_onednn(task.network.to(ranks.device))
        self._share_weights()
        self.optimizer = make_optimizer(task.network, settings.optimizer)
        self.scaler = torch.amp.GradScaler(ranks.device.type, enabled=settings.precision == "fp16")
        self._trained = [values for group in self.optimizer.param_groups for values in group["params"]]

    def run(self, step: int) -> Step:
        """Do step t = `step`, from 0.

        Raises:
            LongRankError: the loss or its gradient is not finite; the weights are as they were.
        """
        torch.manual_seed(below(1 << 63, "training", self._settings.seed, step, self._ranks.rank))
        set_rates(self.optimizer, self._schedule.factors(step, self._settings.steps))
        self.optimizer.zero_grad(set_to_none=True)
        loss = self._backward(step)
        self._add_up_gradients()
        self.scaler.unscale_(self.optimizer)
        norm = float(torch.nn.utils.clip_grad_norm_(self._trained, self._settings.clip or float("inf")))
        if not norm < float("inf") and not self.scaler.is_enabled():  # a scaler skips the step instead
            raise LongRankError(f"the gradient of {self._where(step)} is not finite; {_DIVERGED}")
        self.scaler.step(self.optimizer)
        self.scaler.update()
        rates = {group["part"]: group["lr"] for group in self.optimizer.param_groups}
        return Step(loss, rates.get(ENCODER), rates.get(HEAD), norm if norm < float("inf") else None)

    def _backward(self, step: int) -> float:
        """Compute this process's part of the gradient; return the loss of the whole batch."""
        batch = self._settings.batch
        total = torch.zeros((), device=self._ranks.device)
        for instances in self._micro_batches(step):
            with self._precision():
                loss = self._task.loss(instances) * (len(instances) / batch)
            self.scaler.scale(loss).backward()
            total += loss.detach()
        mean = float(self._ranks.sum(total))
        if not abs(mean) < float("inf"):
            raise LongRankError(f"the loss of {self._where(step)} is not a finite number; {_DIVERGED}")
        return mean

    def _where(self, step: int) -> str:
        batch = self._settings.batch
        return f"step {step + 1} (instances {step * batch} to {(step + 1) * batch - 1})"

    def _micro_batches(self, step: int) -> list[range]:
        share = self._ranks.share(self._settings.batch)
        first = step * self._settings.batch + share.start
        size = self._settings.micro_batch or len(share)
        mine = range(first, first + len(share))
        return [mine[start : start + size] for start in range(0, len(mine), size)]

    def _precision(self) -> torch.autocast:
        kind = torch.float16 if self._settings.precision == "fp16" else torch.bfloat16
        return torch.autocast(self._ranks.device.type, dtype=kind, enabled=self._settings.precision != "no")

    def _add_up_gradients(self) -> None:
        """Add up the gradients of all processes; weights without a gradient in all of them keep none."""
        if self._ranks.n == 1:
            return
        has = [values.grad is not None for values in self._trained]
        parts = [
            (torch.zeros_like(values) if values.grad is None else values.grad).flatten() for values in self._trained
        ]
        parts.append(torch.tensor(has, dtype=parts[0].dtype, device=parts[0].device))
        *sums, counts = self._ranks.sum(torch.cat(parts)).split([len(part) for part in parts])
        for values, grad, count in zip(self._trained, sums, counts.tolist(), strict=True):
            values.grad = grad.view_as(values) if count else None

    def _share_weights(self) -> None:
        """Copy the first process's weights to all processes."""
        network = self._task.network
        with torch.no_grad():
            for values in [*network.parameters(), *network.buffers()]:
                self._ranks.from_first(values)


def with_precision(settings: LoopSettings, device: str) -> LoopSettings:
    """Return the settings with the precision that ``auto`` stands for on a kind of device (``cpu``, ``cuda``)."""
    if settings.precision != "auto":
        return settings
    return settings.model_copy(update={"precision": "bf16" if multiplies_bf16(device) else "no"})


def check_possible(settings: LoopSettings, ranks: Ranks, network: torch.nn.Module) -> None:
    """Refuse settings that this machine, this number of processes or the network does not allow.

    Raises:
        InputError: such settings.
    """
    if settings.batch < ranks.n:
        raise InputError(f"a batch needs an instance for each of the {ranks.n} processes", got=settings.batch)
    if settings.precision == "fp16" and ranks.device.type != "cuda":
        raise InputError("precision fp16 needs a GPU", got=str(ranks.device), fix="use precision = bf16 or no")
    if settings.precision == "bf16" and not multiplies_bf16(ranks.device.type):
        raise InputError(
            "this machine has no instructions for products in bf16: a step would take up to thirty times as long",
            got="precision = bf16",
            fix="use precision = auto or no",
        )
    if settings.gradient_checkpointing and not _recomputing(network):
        raise InputError("the network has no gradient checkpointing", fix="set gradient_checkpointing = false")
    parameter_groups(network, settings.optimizer)
    schedule(settings.schedule.name, settings.schedule.options)


def _recompute_activations(network: torch.nn.Module) -> None:
    """Switch transformers' gradient checkpointing on."""
    for module in _recomputing(network):
        # renamed in transformers 5
        enable = getattr(module, "activation_checkpointing_enable", None) or module.gradient_checkpointing_enable
        enable({"use_reentrant": False})


def _recomputing(network: torch.nn.Module) -> list[torch.nn.Module]:
    """Return the modules with transformers' gradient checkpointing."""
    return [module for module in network.modules() if getattr(module, "supports_gradient_checkpointing", False)]


# --- optimizers over two groups of parameters: the encoder's and the head's ----------------------


def encoder_of(network: torch.nn.Module) -> torch.nn.Module:
    """Return the pretrained part: a document network's encoder, or a transformers model without its head.

    A network without a head is its own encoder. Module structure decides, not names: an ALBERT's names contain "bert"
    everywhere.
    """
    if isinstance(network, DocumentNetwork):
        return network.encoder
    return getattr(network, "base_model", network)


def parameter_groups(network: torch.nn.Module, settings: OptimizerSettings) -> list[dict[str, Any]]:
    """Return the trained parameters as groups of a torch optimizer, without empty groups.

    Each group has ``part`` (encoder or head), ``rate`` (its learning rate before the schedule's factor), ``lr``, the
    same, and ``weight_decay``, 0 for vectors: biases and norms.

    Raises:
        InputError: all parameters are frozen, or a head's learning rate is set and there is no head.
    """
    inside = {id(values) for values in encoder_of(network).parameters()}
    rates = {ENCODER: settings.learning_rate, HEAD: settings.head_learning_rate or settings.learning_rate}
    groups: dict[tuple[str, bool], list[torch.nn.Parameter]] = {}
    for values in network.parameters():
        if values.requires_grad:
            part = ENCODER if id(values) in inside else HEAD
            groups.setdefault((part, values.ndim > 1), []).append(values)
    if not groups:
        raise InputError("the network has no parameter to train: all are frozen")
    if settings.head_learning_rate is not None and not any(part == HEAD for part, _ in groups):
        fix = "leave loop.optimizer.head_learning_rate out"
        raise InputError(
            "the network has no head, but head_learning_rate is set", got=settings.head_learning_rate, fix=fix
        )
    return [
        {
            "params": groups[part, decays],
            "part": part,
            "rate": rates[part],
            "lr": rates[part],
            "weight_decay": settings.weight_decay if decays else 0.0,
        }
        for part, decays in sorted(groups)
    ]


def make_optimizer(network: torch.nn.Module, settings: OptimizerSettings) -> torch.optim.Optimizer:
    """Return a fresh optimizer.

    Raises:
        InputError: as `parameter_groups`.
    """
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[settings.name]
    groups = parameter_groups(network, settings)
    return kind(groups, betas=(settings.beta1, settings.beta2), eps=settings.eps, fused=True)


def set_rates(optimizer: torch.optim.Optimizer, factors: Factors) -> None:
    """Set the learning rates of the next step."""
    for group in optimizer.param_groups:
        group["lr"] = group["rate"] * getattr(factors, group["part"])
