"""What longrank.json in a folder says of the document network there; no torch."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.models.checks import read_json

FILE = "longrank.json"
_FORMAT = "longrank document network"
_VERSION = 1


def description(name: str, options: Mapping[str, Any], record: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what is to be written of a network.

    Args:
        name: a key of `longrank.models.DOCUMENT_NETWORKS`.
        options: those that were given.
        record: of its training; None: it has not been trained.
    """
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "longrank": version("longrank"),
        "network": name,
        "options": dict(options),
        "untrained": record is None,
        "record": None if record is None else dict(record),
    }


def describe(folder: Path) -> dict[str, Any]:
    """Return what is written of the network in a folder: ``network``, ``options``, ``untrained``, ``record``, ...

    Raises:
        InputError: no document network in that folder, or one of a later version.
    """
    path = folder / FILE
    if not path.is_file():
        raise InputError(f"holds no {FILE}: not a document network of longrank", path=folder)
    found = read_json(path)
    if found.get("format") != _FORMAT:
        raise InputError("does not describe a document network", path=path, got=found.get("format"))
    if found.get("version") != _VERSION:
        raise InputError(
            f"is of version {found.get('version')}, this longrank reads {_VERSION}", path=path, fix="upgrade longrank"
        )
    options, record = found.get("options"), found.get("record")
    if not isinstance(options, dict) or not (record is None or isinstance(record, dict)):
        raise InputError("lacks the network's options or its training record", path=path)
    if found.get("untrained") is not (record is None):
        raise InputError("says of an untrained network how it was trained, or nothing of a trained one", path=path)
    return found
