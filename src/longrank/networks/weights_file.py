"""Writing of tensors to a model's folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import save_file


def save_weights(tensors: Mapping[str, torch.Tensor], path: Path, rights_of: Path) -> None:
    """Write tensors to a safetensors file; whoever may read the file `rights_of` may read it.

    Args:
        tensors: name -> tensor; contiguous, and none shares its memory with another.
        path: the new file.
        rights_of: a file of the same model; safetensors alone would let only the owner read the new file.
    """
    save_file(dict(tensors), path, {"format": "pt"})
    path.chmod(rights_of.stat().st_mode)
