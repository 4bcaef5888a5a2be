"""Dense layers by oneDNN: y = activation(x W^T + b) in one call.

PyTorch multiplies float32 matrices by MKL, which does not use AVX-512 on processors other than Intel's. oneDNN, which
PyTorch brings too, does, and applies the activation while results are in cache. Sums are added in another order, so
outputs differ in their last bits. Accelerators, and builds of PyTorch without oneDNN, use PyTorch's own functions.

oneDNN compiles a kernel for each number of rows, which takes as long as half a product and .4 to 5 MB, and keeps
a thousand of them. So rows are padded to one of 16 numbers per doubling (`rounded_up`), and `keep_few_kernels` keeps
128 kernels: with more, the memory of a server grows for hours, until it has met all numbers of rows.
"""

from __future__ import annotations

import os
import platform
from functools import cache, partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

ACTIVATIONS = {
    "gelu": ("gelu", "none"),
    "gelu_new": ("gelu", "tanh"),
    "gelu_pytorch_tanh": ("gelu", "tanh"),
    "relu": ("relu", ""),
}
"""Hugging Face's name -> oneDNN's name and formula."""


_CAPACITY, _OLD_CAPACITY = "ONEDNN_PRIMITIVE_CACHE_CAPACITY", "DNNL_PRIMITIVE_CACHE_CAPACITY"
_KERNELS = 128  # of all networks of a process; those used last


def keep_few_kernels() -> None:
    """Bound the memory of oneDNN's kernels, unless the environment has a bound; call it before oneDNN computes."""
    if _OLD_CAPACITY not in os.environ:
        os.environ.setdefault(_CAPACITY, str(_KERNELS))


def dense(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, activation: str | None = None
) -> torch.Tensor:
    """Return activation(x W^T + b), [..., M], of x [..., N] and W [M, N], all of one dtype; not differentiable.

    Args:
        x: float32 or bfloat16.
        weight: W.
        bias: b, [M].
        activation: a key of `ACTIVATIONS`.
    """
    import torch

    name, formula = ACTIVATIONS[activation] if activation else ("none", "")
    if x.device.type == "cpu" and has_onednn():
        rows = filled_up(x.reshape(-1, x.shape[-1]))
        y = torch.ops.mkldnn._linear_pointwise(rows, weight, bias, name, [], formula)
        result: torch.Tensor = y[: x.shape[:-1].numel()].view(*x.shape[:-1], -1)
        return result
    y = torch.nn.functional.linear(x, weight, bias)
    if name == "gelu":
        return torch.nn.functional.gelu(y, approximate=formula)
    return y.relu_() if name == "relu" else y


def rounded_up(n: int) -> int:
    """Return the least multiple of a 16th of the power of two below `n`, of 8 at least, that holds `n`."""
    step = 1 << max(3, n.bit_length() - 5)
    return -(-n // step) * step


def filled_up(rows: torch.Tensor) -> torch.Tensor:
    """Return rows, [T, N], padded with zeros to `rounded_up(T)` rows."""
    from torch.nn.functional import pad

    extra = rounded_up(len(rows)) - len(rows)
    return pad(rows, (0, 0, 0, extra)) if extra else rows


@cache
def has_onednn() -> bool:
    """Say whether PyTorch has oneDNN's dense layer; False on processors other than x86."""
    import torch

    here = torch.backends.mkldnn.is_available() and platform.machine().lower() in ("x86_64", "amd64")
    return here and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def use_onednn(network: Any) -> None:
    """Compute every ``nn.Linear`` of a network on the CPU by `dense`, which has no gradients."""
    import torch

    if not has_onednn():
        return
    for module in network.modules():
        if type(module) is torch.nn.Linear and module.weight.device.type == "cpu":
            module.forward = partial(_forward, module)


def _forward(module: Any, x: torch.Tensor) -> torch.Tensor:
    return dense(x, module.weight, module.bias)
