"""One step of a training: a batch's gradient, added up over micro-batches and processes, and the change of the weights.

Step t sees the instances t B, ..., t B + B - 1. A micro-batch's mean loss counts as many times as it has instances,
so the gradient is that of the batch's mean loss however it was divided. What is drawn in a step (dropout) is a
function of the seed, the step and the process, so a resumed training draws what an undisturbed one does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import torch

from longrank.draws import below
from longrank.errors import InputError, LongRankError
from longrank.models.network import DocumentNetwork
from longrank.training.dense import use_onednn
from longrank.training.loop_settings import LoopSettings, OptimizerSettings
from longrank.training.ranks import Ranks
from longrank.training.schedules import Factors, schedule

ENCODER, HEAD = "encoder", "head"
_DIVERGED = "it has diverged: lower the learning rate, or set loop.clip, and begin a new folder"


class Learner(Protocol):
    """What has a loss."""

    @property
    def network(self) -> torch.nn.Module:
        """What is trained."""
        ...

    def loss(self, instances: Sequence[int]) -> torch.Tensor:
        """Return the mean loss over the instances of these numbers."""
        ...


class Step(NamedTuple):
    """What a step was: its mean loss, the learning rates, and the gradient's length before clipping.

    A rate is None where there is nothing of the kind to train; the length is None if the step was skipped because
    scaled half-precision gradients overflowed.
    """

    loss: float
    encoder_rate: float | None
    head_rate: float | None
    gradient_norm: float | None


class Updates:
    """Does steps, by settings that are possible (`check_possible`); it remembers the optimizer and the loss scale."""

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
        """Do step t = `step`, 0 for the first.

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
        """Compute this process's part of the gradient; return the whole batch's loss."""
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
        """Add up the gradients of all processes; what has none in any keeps none."""
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
        """Let all processes begin with the first one's weights, whatever theirs are."""
        network = self._task.network
        with torch.no_grad():
            for values in [*network.parameters(), *network.buffers()]:
                self._ranks.from_first(values)


def check_possible(settings: LoopSettings, ranks: Ranks, network: torch.nn.Module) -> None:
    """Refuse settings that this machine, this number of processes or the network cannot do.

    Raises:
        InputError: they are such.
    """
    if settings.batch < ranks.n:
        raise InputError(f"a batch needs an instance for each of the {ranks.n} processes", got=settings.batch)
    if settings.precision == "fp16" and ranks.device.type != "cuda":
        raise InputError("precision fp16 needs a GPU", got=str(ranks.device), fix="use precision = bf16 or no")
    if settings.gradient_checkpointing and not _recomputing(network):
        raise InputError("the network has no gradient checkpointing", fix="set gradient_checkpointing = false")
    parameter_groups(network, settings.optimizer)
    schedule(settings.schedule.name, settings.schedule.options)


def _recompute_activations(network: torch.nn.Module) -> None:
    """Switch transformers' gradient checkpointing on."""
    for module in _recomputing(network):
        # transformers 5 has renamed it
        enable = getattr(module, "activation_checkpointing_enable", None) or module.gradient_checkpointing_enable
        enable({"use_reentrant": False})


def _recomputing(network: torch.nn.Module) -> list[torch.nn.Module]:
    """Return the parts of a network that have transformers' gradient checkpointing."""
    return [module for module in network.modules() if getattr(module, "supports_gradient_checkpointing", False)]


# --- optimizers over two groups of parameters: the encoder's and the head's ----------------------


def encoder_of(network: torch.nn.Module) -> torch.nn.Module:
    """Return the part of a network that was pre-trained.

    That is a document network's encoder, and the model without its head of a transformers model; a network
    that has no head is its own encoder.
    """
    if isinstance(network, DocumentNetwork):
        return network.encoder
    return getattr(network, "base_model", network)


def parameter_groups(network: torch.nn.Module, settings: OptimizerSettings) -> list[dict[str, Any]]:
    """Return the parameters that are trained as groups of torch's optimizers, those that are not empty.

    Each has ``part`` (encoder or head), ``rate`` (its learning rate before the schedule's factor), ``lr``, the same,
    and ``weight_decay``, 0 for vectors: biases and norms.

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
            "the network has no head, whose learning rate is set", got=settings.head_learning_rate, fix=fix
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
