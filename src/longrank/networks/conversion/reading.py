"""Read the tensors of PyTorch files without running code: `torch.load` with ``weights_only=True``, and nothing else."""

from __future__ import annotations

import pickle
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from longrank.errors import InputError, first_line
from longrank.networks.checks import tensor_shapes

_STATES = ("state_dict", "model_state_dict", "model", "module", "network")
"""Keys under which training programs put the tensors, in order of preference."""

_CLASS = re.compile(r"GLOBAL ([\w.]+)")


def read_tensors(paths: Sequence[Path]) -> dict[str, torch.Tensor]:
    """Return the tensors of a checkpoint by name, on the CPU, of the dtypes in the file.

    Args:
        paths: PyTorch files or safetensors, the shards of one checkpoint; or the files of a TensorFlow checkpoint, its
            index first.

    Raises:
        InputError: a file is damaged, holds objects other than tensors, or has a tensor of another file.
    """
    if paths[0].suffix == ".index":
        from longrank.networks.conversion.tensorflow import read_variables

        return read_variables(paths[0])
    tensors: dict[str, torch.Tensor] = {}
    for path in paths:
        for name, values in _of_file(path).items():
            if name in tensors:
                raise InputError("holds a tensor that another shard has, too", path=path, got=name)
            tensors[name] = values
    return tensors


def _of_file(path: Path) -> Mapping[str, torch.Tensor]:
    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        tensor_shapes(path)
        loaded: dict[str, torch.Tensor] = load_file(path)
        return loaded
    return _tensors_of(_unpickled(path), path)


def _unpickled(path: Path) -> object:
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        found = _CLASS.search(str(error))
        if found is None:
            raise InputError("is no PyTorch file, or damaged", path=path) from error
        raise InputError(
            "holds an object, not only tensors, and unpickling objects can run code",
            path=path,
            got=found[1],
            fix="if you trust it, load it with the program that wrote it and save model.state_dict(); Birch's networks "
            "are on the hub as tensors: Capreolus/birch-bert-large-mb, -msmarco_mb and -car_mb",
        ) from None
    except (MemoryError, FileNotFoundError):
        raise
    except Exception as error:  # torch raises errors of many types
        raise InputError(f"is no PyTorch file, or damaged: {first_line(error)}", path=path) from error


def _tensors_of(value: object, path: Path) -> Mapping[str, torch.Tensor]:
    """Return the tensors by name, which may lie under a key beside the settings of a training."""
    if isinstance(value, Mapping) and _is_state(value):
        return value
    inner: dict[str, Mapping[str, torch.Tensor]] = (
        {key: each for key, each in value.items() if _is_state(each)} if isinstance(value, Mapping) else {}
    )
    for key in _STATES:
        if key in inner:
            return inner[key]
    if len(inner) == 1:
        return next(iter(inner.values()))
    raise InputError("holds no tensors by name (a state_dict)", path=path, got=_first_other(value))


def _is_state(value: Any) -> bool:
    """Say whether a value is a mapping of names to tensors."""
    return (
        isinstance(value, Mapping)
        and bool(value)
        and all(isinstance(key, str) and isinstance(each, torch.Tensor) for key, each in value.items())
    )


def _first_other(value: object) -> str:
    """Name the first entry that is no tensor."""
    if not isinstance(value, Mapping):
        return type(value).__name__
    others = (f"{key}: {type(each).__name__}" for key, each in value.items() if not isinstance(each, torch.Tensor))
    return next(others, "an empty dict")
