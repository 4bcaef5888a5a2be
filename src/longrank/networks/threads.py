"""The number of PyTorch's CPU threads in a worker."""

from __future__ import annotations

import sys
from importlib.util import find_spec


def use_threads(n: int | None) -> None:
    """Set the number of PyTorch's CPU threads, if a model was loaded; None: leave it."""
    torch = sys.modules.get("torch")  # a pipeline without a model needs no PyTorch
    if n is not None and torch is not None:
        torch.set_num_threads(n)


def threads_here() -> int | None:
    """Return the number of PyTorch's CPU threads in this process; None: PyTorch is not installed."""
    if find_spec("torch") is None:
        return None
    import torch

    return int(torch.get_num_threads())
