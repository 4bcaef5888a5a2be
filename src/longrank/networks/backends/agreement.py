"""Compare an exported graph with the network that it was exported from.

Exporters trace the network on one example and may take a value that depends on the batch for a constant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from longrank.networks.backends import Inputs, Run
from longrank.networks.backends.forward import Exported, input_names
from longrank.networks.inference import inference
from longrank.networks.loading import position_limit

if TYPE_CHECKING:
    import torch

_NOISE = 1e-4  # of the output's size; float32 gives 1e-6
_TRIED = ((1, 512), (3, 40), (2, 512))  # batches and lengths, other than the example's


def agrees(encoder: Any, run: Run) -> bool:
    """Compare a graph with PyTorch's forward pass of an encoder, on batches other than the example of the export.

    Args:
        encoder: a transformers model without head, float32, on the CPU, as it was loaded.
        run: the loaded graph.
    """
    exported = Exported(encoder, run)
    return all(_agrees(encoder, exported, random_batch(encoder, *shape)) for shape in _TRIED)


def random_batch(encoder: Any, n: int, length: int) -> dict[str, NDArray[np.int64]]:
    """Return a batch of random tokens; the last of n sequences has an n-th of the length, the others lie between."""
    length = min(length, position_limit(encoder))
    random, padding = np.random.default_rng(length), encoder.config.pad_token_id or 0
    ids = random.integers(0, encoder.config.vocab_size - 1, (n, length))
    ids[ids >= padding] += 1  # any token but the padding
    mask = (np.arange(length) < length - np.arange(n)[:, None] * length // n).astype(np.int64)
    types = (np.arange(length) >= length // 2) * mask
    every = {"input_ids": np.where(mask, ids, padding), "attention_mask": mask, "token_type_ids": types}
    return {name: every[name] for name in input_names(encoder)}


def _agrees(encoder: Any, exported: Exported, inputs: Inputs) -> bool:
    import torch

    features = {name: torch.from_numpy(value) for name, value in inputs.items()}
    with inference("cpu"):
        expected = encoder(**features)
        try:
            computed = exported(**features)
        except Exception:  # a shape that the graph does not know
            return False
    pooled = expected.get("pooler_output")
    real = features["attention_mask"].bool()
    return _is_close(computed.last_hidden_state, expected.last_hidden_state, real) and (
        pooled is None or _is_close(computed.pooler_output, pooled, real[:, 0])
    )


def _is_close(computed: torch.Tensor, expected: torch.Tensor, real: torch.Tensor) -> bool:
    if computed.shape != expected.shape:
        return False
    return bool((computed - expected)[real].abs().max() <= _NOISE * expected[real].abs().max().clamp(min=_NOISE))
