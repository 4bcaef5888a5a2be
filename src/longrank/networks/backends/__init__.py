"""Who computes an encoder: PyTorch, or another program that gets it as a graph.

The graph is exported once and kept (`exported`). It covers the encoder, from token ids to the last hidden state;
pooling, pooler and head stay with PyTorch in float32, so that every kind of encoder works with the same code
(`forward`). What does not compute the same is refused (`agreement`).

To add a backend, write a module with the functions ``export`` and ``load`` (see `openvino_runtime`), and add a line
to `BACKENDS` and an extra of the same name to pyproject.toml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from longrank.config import lookup
from longrank.errors import InputError, MissingExtra

Inputs = Mapping[str, NDArray[np.int64]]
"""``input_ids``, ``attention_mask`` and, where the encoder has them, ``token_type_ids``: [B, L] each."""

Run = Callable[[Inputs], NDArray[np.float32]]
"""Computes the last hidden states [B, L, H] of a batch; may be called from several threads at once."""


@dataclass(frozen=True, slots=True)
class Backend:
    """A way to compute an encoder.

    Attributes:
        dtypes: what its products can be computed in.
        packages: what it needs besides PyTorch; the extra of its name brings them.
        module: has ``export(network, example, folder)``, which writes the graph, and ``load(folder, bf16)`` -> `Run`.
    """

    dtypes: tuple[str, ...]
    packages: tuple[str, ...] = ()
    module: str = ""


BACKENDS: dict[str, Backend] = {
    "torch": Backend(("float32", "bf16")),
    "onnx": Backend(("float32",), ("onnx", "onnxruntime", "onnxscript"), "longrank.networks.backends.onnx_runtime"),
    "openvino": Backend(
        ("float32", "bf16", "int8"), ("openvino", "nncf"), "longrank.networks.backends.openvino_runtime"
    ),
}
"""Backends by name."""


def check_backend(name: str, dtype: str, device: str) -> str:
    """Return the device that a backend computes on: the one asked for, or ``cpu`` where it knows no other.

    Raises:
        InputError: no such backend, a dtype that it does not compute in, or a device that it does not know.
        MissingExtra: its packages are not installed.
    """
    backend = lookup(BACKENDS, name, "backend")
    if dtype not in backend.dtypes:
        others = " or ".join(f"backend={other}" for other, one in BACKENDS.items() if dtype in one.dtypes)
        raise InputError(
            f"with backend={name}, dtype must be one of {', '.join(backend.dtypes)}",
            got=dtype,
            fix=f"use {others}" if others else None,
        )
    if any(find_spec(package) is None for package in backend.packages):
        raise MissingExtra(f"backend={name}", name)
    if name == "torch":
        return device
    if device not in ("auto", "cpu"):
        raise InputError(f"backend={name} computes on the CPU only", got=device, fix="use backend=torch")
    return "cpu"
