"""Set the dropout of a whole network."""

from __future__ import annotations

import torch


def set_dropout(network: torch.nn.Module, dropout: float) -> None:
    """Set all dropouts of a network: modules, and numbers that modules pass to attention (ModernBERT, Longformer)."""
    for module in network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = dropout
        for name, value in vars(module).items():
            if "dropout" in name and type(value) in (float, int):
                setattr(module, name, dropout)
