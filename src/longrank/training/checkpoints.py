"""Checkpoints of a training: folders that are whole or absent, without pickle.

    checkpoints/step-00000200/
        weights.safetensors    trained weights; frozen parameters come with the task
        optimizer.safetensors  the optimizer's tensors of each weight: <name>.exp_avg, <name>.step, ...
        best.safetensors       the weights of the best validation, if there was one
        log.jsonl              the log until then
        position.json          steps done, best measure, ...
        manifest.json          a checksum of each file

Random states are not kept: draws are functions of the step. Two checkpoints are kept, so a damaged checkpoint costs
only the steps since its predecessor.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from longrank.errors import IntegrityError, LongRankError
from longrank.storage import read_manifest, verify, write_manifest
from longrank.storage.folders import atomic_folder
from longrank.storage.workplace import create
from longrank.types import Notes

_KEPT = 2
_PREFIX = "step-"

Tensors = dict[str, torch.Tensor]


@dataclass
class Position:
    """Progress of a training.

    Attributes:
        step: steps done.
        best_step: steps done at the best validation; None: no validation yet.
        best_measure: its measure.
        waited: validations since then, none of them better.
        scaler: state of the loss scale; empty unless the precision is fp16.
    """

    step: int = 0
    best_step: int | None = None
    best_measure: float | None = None
    waited: int = 0
    scaler: dict[str, Any] = field(default_factory=dict)


class Checkpoint(NamedTuple):
    """The whole state of a training; `best` is None before the first validation."""

    position: Position
    weights: Tensors
    optimizer: Tensors
    best: Tensors | None
    log: str


def save(folder: Path, checkpoint: Checkpoint, training: str = "") -> Path:
    """Write a checkpoint below `folder`, then remove all but the last two; return its folder.

    Args:
        folder: holds the checkpoints of a training.
        checkpoint: the state.
        training: digest of the training's identity.

    Raises:
        LongRankError: writing failed (no space left, ...); earlier checkpoints are untouched.
    """
    place = folder / f"{_PREFIX}{checkpoint.position.step:08d}"
    files = {"weights": checkpoint.weights, "optimizer": checkpoint.optimizer, "best": checkpoint.best}
    with atomic_folder(place) as new:
        for name, tensors in files.items():
            if tensors is not None:
                save_file(tensors, new / f"{name}.safetensors")
        (new / "log.jsonl").write_text(checkpoint.log, encoding="utf-8")
        (new / "position.json").write_text(json.dumps(asdict(checkpoint.position)) + "\n", encoding="utf-8")
        write_manifest(new, {"format": "longrank checkpoint", "training": training})
    for old in _steps(folder)[_KEPT:]:
        shutil.rmtree(old)
    return place


def digests(place: Path) -> dict[str, str]:
    """Return the SHA-256 of a checkpoint's weights and optimizer, from its manifest."""
    files = read_manifest(place)["files"]
    return {name: files[f"{name}.safetensors"]["sha256"] for name in ("weights", "optimizer")}


def newest(folder: Path, notes: Notes, training: str = "") -> Path | None:
    """Return the last undamaged checkpoint, or None; damaged checkpoints are counted.

    Raises:
        IntegrityError: the checkpoint is of another training; checkpoints of earlier versions do not tell.
    """
    for place in _steps(folder):
        try:
            verify(place)
        except (LongRankError, OSError):
            notes.add("damaged checkpoints, not used", str(place))
            continue
        if read_manifest(place).get("training", training) != training:
            raise IntegrityError(f"{place}: is a checkpoint of another training; move it back to its folder")
        return place
    return None


def load(place: Path) -> Checkpoint:
    """Read a checkpoint that `newest` returned."""
    best = place / "best.safetensors"
    try:
        return Checkpoint(
            Position(**json.loads((place / "position.json").read_text(encoding="utf-8"))),
            load_file(place / "weights.safetensors"),
            load_file(place / "optimizer.safetensors"),
            load_file(best) if best.exists() else None,
            (place / "log.jsonl").read_text(encoding="utf-8"),
        )
    except (OSError, SafetensorError, TypeError, ValueError) as error:
        raise IntegrityError(f"{place}: cannot be read ({error})") from error


def clean(folder: Path, used: Path | None) -> None:
    """Create the folder, or remove unfinished checkpoints and checkpoints later than `used`, which are damaged."""
    create(folder)
    for path in folder.glob(".*.tmp"):
        shutil.rmtree(path)
    for place in _steps(folder):
        if used is None or place.name > used.name:
            shutil.rmtree(place)


def weights_of(network: torch.nn.Module) -> Tensors:
    """Return copies, on the CPU, of the trained weights: parameters that are not frozen, and buffers, each once."""
    with torch.no_grad():
        return {name: values.detach().to("cpu", copy=True).contiguous() for name, values in _trained(network).items()}


def set_weights(network: torch.nn.Module, weights: Tensors) -> None:
    """Set the weights that `weights_of` returned for the same network.

    Raises:
        IntegrityError: the weights are of another network.
    """
    own = _trained(network)
    if {name: values.shape for name, values in own.items()} != {name: v.shape for name, v in weights.items()}:
        raise IntegrityError("the weights are of another network")
    with torch.no_grad():
        for name, values in own.items():
            values.copy_(weights[name])


def optimizer_state(network: torch.nn.Module, optimizer: torch.optim.Optimizer) -> Tensors:
    """Return copies, on the CPU, of the optimizer's tensors, named by parameter."""
    return {
        f"{name}.{key}": values.detach().to("cpu", copy=True).contiguous()
        for name, parameter in network.named_parameters()
        for key, values in optimizer.state.get(parameter, {}).items()
    }


def set_optimizer_state(network: torch.nn.Module, optimizer: torch.optim.Optimizer, tensors: Tensors) -> None:
    """Set the tensors that `optimizer_state` returned."""
    parameters = dict(network.named_parameters())
    optimizer.state.clear()
    for full, values in tensors.items():
        name, _, key = full.rpartition(".")
        parameter = parameters[name]
        optimizer.state[parameter][key] = values.to(parameter.device)  # the step, too: fused optimizers keep it there


def _trained(network: torch.nn.Module) -> Tensors:
    persistent = network.state_dict(keep_vars=True)
    buffers = {name: values for name, values in network.named_buffers() if name in persistent}
    return {name: values for name, values in network.named_parameters() if values.requires_grad} | buffers


def _steps(folder: Path) -> list[Path]:
    """Return all checkpoints, the last first."""
    return sorted(folder.glob(f"{_PREFIX}*"), reverse=True)
