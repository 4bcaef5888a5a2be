"""Optimizers over two groups of parameters, those of the encoder and those of the head.

Which is which is asked of the network's modules, not of names: an ALBERT's contain "bert" wherever they are.
"""

from __future__ import annotations

from typing import Any

import torch

from longrank.errors import InputError
from longrank.models.network import DocumentNetwork
from longrank.training.loop_settings import OptimizerSettings
from longrank.training.schedules import Factors

ENCODER, HEAD = "encoder", "head"


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
