"""Backends that compute an encoder: PyTorch, OpenVINO and ONNX Runtime.

OpenVINO and ONNX Runtime read the encoder as a graph that is exported once and cached (`exported`). The graph reaches
from token ids to the last hidden state; pooling, pooler and head stay in PyTorch and float32, so that the same code
serves every kind of encoder (`forward`). A graph whose results differ from PyTorch's is refused (`agreement`).

To add a backend, write a module with the functions ``export`` and ``load`` (see `openvino_runtime`), and add a line
to `BACKENDS` and an extra of the same name to pyproject.toml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from longrank.errors import InputError, MissingExtra
from longrank.registries import lookup

Inputs = Mapping[str, NDArray[np.int64]]
"""``input_ids``, ``attention_mask`` and, where the encoder has them, ``token_type_ids``: [B, L] each."""

Run = Callable[[Inputs], NDArray[np.float32]]
"""Computes the last hidden states [B, L, H] of a batch; may be called from several threads at once."""


@dataclass(frozen=True, slots=True)
class Backend:
    """A program that computes encoders.

    Attributes:
        dtypes: dtypes of its products.
        packages: Python packages that it needs besides PyTorch; the extra of its name installs them.
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
    """Return the device that a backend computes on: `device`, or ``cpu`` for backends that know only that.

    Raises:
        InputError: unknown backend, or a dtype or device that the backend does not support.
        MissingExtra: its packages are not installed.
    """
    backend = lookup(BACKENDS, name, "backend")
    if dtype not in backend.dtypes:
        others = " or ".join(f"backend={other}" for other, entry in BACKENDS.items() if dtype in entry.dtypes)
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
