"""ONNX Runtime: encoders on the CPU, in float32; each batch is computed by the calling thread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.networks.backends import Inputs, Run

NAME = "encoder.onnx"  # and encoder.onnx.data, the weights
_ERRORS = 3


def export(network: Any, example: dict[str, Any], folder: Path) -> None:
    """Write the graph of a torch module whose inputs are [B, L]."""
    import torch

    any_size = torch.export.Dim.DYNAMIC
    torch.onnx.export(
        network,
        kwargs=example,
        f=str(folder / NAME),
        input_names=list(example),
        dynamic_shapes={name: {0: any_size, 1: any_size} for name in example},
        dynamo=True,
        verbose=False,
    )


def load(folder: Path, bf16: bool) -> Run:
    """Open the graph.

    Raises:
        ValueError: `bf16`, which ONNX Runtime does not support on a CPU.
    """
    import onnxruntime

    if bf16:
        raise ValueError("bf16")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS
    options.enable_mem_pattern = False  # shapes of batches differ
    session = onnxruntime.InferenceSession(str(folder / NAME), options, providers=["CPUExecutionProvider"])
    names = [entry.name for entry in session.get_inputs()]

    def run(inputs: Inputs) -> NDArray[np.float32]:
        hidden: NDArray[np.float32] = session.run(None, {name: inputs[name] for name in names})[0]
        return hidden

    return run
