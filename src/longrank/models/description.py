"""What longrank.json in a folder says of the document network there; no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.networks.checks import read_json
from longrank.types import Notes

FILE = "longrank.json"
TRAINED = "training.json"
"""Beside a model of transformers that was trained here: the record of that."""
_FORMAT = "longrank document network"
_VERSION = 1


def description(
    name: str,
    options: Mapping[str, Any],
    record: Mapping[str, Any] | None,
    lineage: Sequence[Mapping[str, str]] = (),
) -> dict[str, Any]:
    """Return what is to be written of a network.

    Args:
        name: a key of `longrank.models.DOCUMENT_NETWORKS`.
        options: those that were given.
        record: of its training; None: it has not been trained.
        lineage: of an untrained network, what its weights have learned from before (`lineage_of`).
    """
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "longrank": version("longrank"),
        "network": name,
        "options": dict(options),
        "untrained": record is None,
        "record": None if record is None else dict(record),
        **({"lineage": list(lineage)} if lineage else {}),
    }


def describe(folder: Path) -> dict[str, Any]:
    """Return what is written of the network in a folder: ``network``, ``options``, ``untrained``, ``record``, ...

    Raises:
        InputError: no document network in that folder, or one of a later version.
    """
    path = folder / FILE
    if not path.is_file():
        raise InputError(
            f"holds no {FILE}: not a document network of longrank", path=folder, fix="longrank create makes one"
        )
    found = read_json(path)
    if found.get("format") != _FORMAT:
        raise InputError("does not describe a document network", path=path, got=found.get("format"))
    if found.get("version") != _VERSION:
        raise InputError(
            f"is of version {found.get('version')}, this longrank reads {_VERSION}", path=path, fix="upgrade longrank"
        )
    record = found.get("record", "")
    if not isinstance(found.get("network"), str) or not isinstance(found.get("options"), dict):
        raise InputError("lacks the network's name or its options", path=path)
    if not (record is None or isinstance(record, dict)):
        raise InputError("lacks the network's training record", path=path)
    if found.get("untrained") is not (record is None):
        raise InputError("says of an untrained network how it was trained, or nothing of a trained one", path=path)
    return found


def lineage_of(folder: Path) -> list[dict[str, str]]:
    """Return the trainings that the weights in a folder come from, the first one first: digests of qrels and fold.

    Those of a model that is no document network, or of one that was only created, are none.

    Raises:
        InputError: as `describe`.
    """
    if not (folder / FILE).is_file():
        return []
    found = describe(folder)
    run = (found["record"] or {}).get("run", {})
    own = [{key: run[key] for key in ("qrels", "fold")}] if {"qrels", "fold"} <= run.keys() else []
    return [*found.get("lineage", []), *run.get("lineage", []), *own]


def check_trained(name: str, folder: Path, allow_untrained: bool, notes: Notes) -> None:
    """Refuse a document network that has never been trained, or say in `notes` that it has not.

    Args:
        name: of the model, for the note.
        folder: of any model; one that is no document network passes.
        allow_untrained: whether it may be used all the same.
        notes: of the run.

    Raises:
        InputError: it is untrained and not allowed; or, as `describe`, damaged.
    """
    if not (folder / FILE).is_file() or not describe(folder)["untrained"]:
        return
    if not allow_untrained:
        raise InputError(
            "the network has never been trained: its scores would be chance",
            path=folder / FILE,
            fix="train it, or allow it: --allow-untrained or --set scorer.options.allow_untrained=true",
        )
    notes.say(f"'{name}' has never been trained: its scores are chance")
