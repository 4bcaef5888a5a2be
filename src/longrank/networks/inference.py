"""Compute without gradients, and as LongRank means it, whatever the calling program has set in PyTorch."""

from __future__ import annotations

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


def note_precision(notes: Notes) -> None:
    """Say if the program has set float32 products to less than full precision, for all of PyTorch."""
    import torch

    if (precision := torch.get_float32_matmul_precision()) != "highest":
        notes.say(
            f"this program lets PyTorch round float32 products (precision '{precision}'), so scores differ a little"
        )
