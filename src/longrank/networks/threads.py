"""The number of PyTorch's CPU threads in a worker."""

from __future__ import annotations

import sys


def use_threads(n: int | None) -> None:
    """Set the number of PyTorch's CPU threads, if a model was loaded; None: leave it."""
    torch = sys.modules.get("torch")  # a pipeline without a model needs no PyTorch
    if n is not None and torch is not None:
        torch.set_num_threads(n)
