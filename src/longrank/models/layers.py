"""Encoders that keep some of their layers: what a student begins as that learns from the whole one.

Layers are taken evenly from the first to the last, as DistilBERT was begun: 0, 2, 4, 7, 9 and 11 of 12. All else of the
encoder stays.
"""

from __future__ import annotations

from typing import Any

import torch

from longrank.errors import InputError

_LAYERS = {
    "bert": "encoder.layer",
    "distilbert": "transformer.layer",
    "electra": "encoder.layer",
    "roberta": "encoder.layer",
    "xlm-roberta": "encoder.layer",
}
"""model_type of transformers -> where its encoder has its layers, each with weights of its own."""


def evenly(count: int, of: int) -> list[int]:
    """Return which of the layers 0 to `of` - 1 are kept: the first, the last, and those between at equal steps.

    Args:
        count: how many to keep, 1 to `of`; one is the first.
        of: how many there are.
    """
    steps = max(count - 1, 1)
    return [(2 * i * (of - 1) + steps) // (2 * steps) for i in range(count)]  # halves go up


def keep_layers(model: Any, count: int) -> None:
    """Take layers out of a model of transformers until `count` are left, in place.

    Args:
        model: an encoder, or a sequence classifier around one.
        count: how many are left.

    Raises:
        InputError: a family whose layers are not alike and independent, or it has fewer.
    """
    family = model.config.model_type
    if family not in _LAYERS:
        raise InputError(
            f"layers can be left out of {', '.join(_LAYERS)}",
            got=family,
            fix="leave --layers out, or take another model",
        )
    path, _, name = _LAYERS[family].rpartition(".")
    inner = model.base_model.get_submodule(path)
    layers = getattr(inner, name)
    if not 1 <= count <= len(layers):
        raise InputError(f"of {len(layers)} layers, 1 to {len(layers)} can be kept", got=count)
    setattr(inner, name, torch.nn.ModuleList(layers[i] for i in evenly(count, len(layers))))
    for module in model.modules():
        if hasattr(module, "config"):
            module.config.num_hidden_layers = count
