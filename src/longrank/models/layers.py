"""Remove layers from an encoder, for a student that learns from the complete encoder.

The kept layers are spread evenly from the first to the last, as in DistilBERT: 0, 2, 4, 7, 9 and 11 of 12. Other parts
of the encoder stay.
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
"""model_type of transformers -> path of the layers in its encoder."""


def evenly(count: int, of: int) -> list[int]:
    """Return `count` of the layers 0 to `of` - 1: the first, the last, and layers at equal steps between.

    Args:
        count: number of kept layers, 1 to `of`; 1 keeps the first.
        of: number of layers.
    """
    steps = max(count - 1, 1)
    return [(2 * i * (of - 1) + steps) // (2 * steps) for i in range(count)]  # halves go up


def keep_layers(model: Any, count: int) -> None:
    """Remove layers of a transformers model in place, so that `count` are left.

    Args:
        model: an encoder, or a sequence classifier around one.
        count: number of kept layers.

    Raises:
        InputError: an unknown family of models, or `count` is out of range.
    """
    family = model.config.model_type
    if family not in _LAYERS:
        raise InputError(
            f"layers can be removed only from {', '.join(_LAYERS)}",
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
