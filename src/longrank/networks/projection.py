"""Projection of token vectors, a torch module; imported only when a model needs it."""

from __future__ import annotations

from typing import Any

import torch


class Projection(torch.nn.Module):  # type: ignore[misc]
    """A linear layer and an activation, plus the input, or a linear layer of it, if it `adds`."""

    def __init__(self, linear: torch.nn.Linear, activation: Any, residual: torch.nn.Linear | None, adds: bool) -> None:
        super().__init__()
        self.linear, self.activation, self.residual, self.adds = linear, activation, residual, adds

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return [..., M] of [..., N]."""
        y: torch.Tensor = self.activation(self.linear(x))
        if self.adds:
            y = y + (x if self.residual is None else self.residual(x))
        return y
