"""OpenVINO: encoders on the CPU, in float32, bf16 or int8.

The runtime has as many streams as PyTorch has threads, each of one thread. One thread computes a batch, so its bytes do
not depend on the number of threads.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longrank.errors import LongRankError, first_line
from longrank.networks.backends import Inputs, Run

NAME = "encoder.xml"  # and encoder.bin
_KEPT_SHAPES = 64  # compiled shapes in the cache; the default of thousands gains nothing


def openvino() -> Any:
    """Import OpenVINO without its telemetry, which reports every conversion over the network."""
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    import openvino

    return openvino


def export(network: Any, example: dict[str, Any], folder: Path) -> None:
    """Write the graph of a torch module whose inputs are [B, L]."""
    ov = openvino()
    graph = ov.convert_model(network, example_input=example)
    save(graph, folder / NAME)


def save(graph: Any, path: Path) -> None:
    """Write a graph in float32, and its weights beside it.

    Raises:
        LongRankError: writing failed (no space left, ...); names the file.
    """
    try:
        openvino().save_model(graph, str(path), compress_to_fp16=False)
    except RuntimeError as error:  # OpenVINO's only error
        raise LongRankError(f"cannot write {path}: {first_line(error)}") from error


def load(folder: Path, bf16: bool) -> Run:
    """Compile the graph; `bf16`: compute products that are not quantised in bf16."""
    import torch

    ov, threads = openvino(), torch.get_num_threads()
    core = ov.Core()
    core.set_property({"ENABLE_MMAP": False})  # a file that is overwritten would change the network
    options = {
        "INFERENCE_PRECISION_HINT": "bf16" if bf16 else "f32",
        "NUM_STREAMS": threads,
        "INFERENCE_NUM_THREADS": threads,
        "ENABLE_CPU_PINNING": False,
        "CPU_RUNTIME_CACHE_CAPACITY": _KEPT_SHAPES,
    }
    compiled = core.compile_model(core.read_model(str(folder / NAME)), "CPU", options)
    names = [entry.any_name for entry in compiled.inputs]
    idle: list[Any] = []

    def run(inputs: Inputs) -> NDArray[np.float32]:
        try:
            request = idle.pop()
        except IndexError:  # other threads use all of them
            request = compiled.create_infer_request()
        hidden: NDArray[np.float32] = request.infer([inputs[name] for name in names], share_inputs=True)[0]
        idle.append(request)
        return hidden

    return run
