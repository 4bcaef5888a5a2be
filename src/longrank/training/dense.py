"""Trainable dense layers by oneDNN: y = x W^T + b and both gradients.

PyTorch multiplies float32 matrices by MKL, which leaves AVX-512 unused on many processors (`longrank.networks.dense`).
oneDNN adds the same sums in another order. In bf16, PyTorch uses oneDNN itself.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch.nn import functional

from longrank.networks.dense import filled_up, has_onednn


def use_onednn(network: torch.nn.Module) -> None:
    """Compute every ``nn.Linear`` of a network on the CPU by oneDNN, with gradients."""
    if not has_onednn():
        return
    for module in network.modules():
        if type(module) is torch.nn.Linear and module.weight.device.type == "cpu":
            module.forward = partial(_forward, module)


def _forward(module: torch.nn.Linear, x: torch.Tensor) -> torch.Tensor:
    if torch.is_autocast_enabled("cpu") or x.dtype != torch.float32:
        return functional.linear(x, module.weight, module.bias)
    rows = _Dense.apply(x.reshape(-1, x.shape[-1]), module.weight, module.bias)
    return rows.view(*x.shape[:-1], -1)


class _Dense(torch.autograd.Function):  # type: ignore[misc]  # torch has no types here
    """x W^T + b of rows x, [T, N], weights W, [M, N], and b, [M] or None."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        filled = filled_up(x)
        ctx.save_for_backward(filled, weight)
        result = _product(filled, weight, bias)
        # Longformer writes to its result, which must not be a view.
        return result if len(filled) == len(x) else result[: len(x)].clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        filled = filled_up(gradient)
        of_x, of_weight, of_bias = ctx.needs_input_grad
        return (
            _product(filled, weight.t())[: len(gradient)] if of_x else None,
            _product(filled.t(), x.t()) if of_weight else None,
            gradient.sum(0) if of_bias else None,
        )


def _product(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    result: torch.Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return result
