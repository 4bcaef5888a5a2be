"""Compute without gradients, and as LongRank means it, whatever the calling program has set in PyTorch."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from longrank.types import Notes


@contextmanager
def inference(device: str) -> Iterator[None]:
    """Compute without gradients, and without the caller's `torch.autocast`: scores would be of another dtype.

    Args:
        device: torch device of the work.
    """
    import torch

    with torch.inference_mode(), torch.autocast(device.partition(":")[0], enabled=False):
        yield


def note_precision(device: str, notes: Notes) -> None:
    """Say if the program lets PyTorch round float32 products on a device."""
    if precision := _rounded_to(device.partition(":")[0]):
        notes.say(
            f"this program lets PyTorch round float32 products (precision '{precision}'): scores may differ a little"
        )


def rounding() -> str:
    """Return the precisions to which the program lets PyTorch round float32 products; empty: it does not round."""
    if "torch" not in sys.modules:  # nothing is computed by PyTorch
        return ""
    return " ".join(f"{kind}={precision}" for kind in ("cpu", "cuda") if (precision := _rounded_to(kind)))


def _rounded_to(kind: str) -> str:
    """Return the precision to which float32 products may be rounded on a kind of device; empty: they are not."""
    import torch

    backend = {"cpu": torch.backends.mkldnn, "cuda": torch.backends.cuda}.get(kind)
    if backend is None:
        return ""
    precision = getattr(getattr(backend, "matmul", None), "fp32_precision", None)
    if precision is None:  # PyTorch before 2.9
        precision = torch.get_float32_matmul_precision()
    elif precision == "none":  # nothing is set for this backend
        precision = torch.backends.fp32_precision
    return "" if precision in ("highest", "ieee", "none") else precision
