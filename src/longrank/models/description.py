"""Read and write longrank.json, the description of a document network; no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.networks.checks import read_json
from longrank.networks.trainings import DESCRIPTION
from longrank.types import Notes

_FORMAT = "longrank document network"
_VERSION = 1
FORMER_DEFAULTS: dict[str, dict[str, Any]] = {"parade-transformer": {"positions": 0}}
"""Options whose default has changed: network -> option -> default in folders that do not name the option."""


def description(
    name: str, options: Mapping[str, Any], record: Mapping[str, Any] | None, lineage: Sequence[Mapping[str, str]] = ()
) -> dict[str, Any]:
    """Return the contents of longrank.json for a network.

    Args:
        name: a key of `longrank.models.DOCUMENT_NETWORKS`.
        options: options of the network that were set, and those that its model decided.
        record: record of its training; None: untrained.
        lineage: earlier trainings of an untrained network's weights (`longrank.networks.trainings`).
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
    """Return the description of the network in a folder: ``network``, ``options``, ``untrained``, ``record``, ...

    Options whose default has changed are always among ``options``.

    Raises:
        InputError: no document network in that folder, or its version is newer.
    """
    path = folder / DESCRIPTION
    if not path.is_file():
        raise InputError(
            f"holds no {DESCRIPTION}: not a document network of longrank", path=folder, fix="longrank create makes one"
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
        raise InputError("has a training record of an untrained network, or none of a trained network", path=path)
    found["options"] = FORMER_DEFAULTS.get(found["network"], {}) | found["options"]
    return found


def check_trained(name: str, folder: Path, allow_untrained: bool, notes: Notes) -> None:
    """Refuse an untrained document network, or note it.

    Args:
        name: the model's name, for the note.
        folder: folder of any model; models that are not document networks pass.
        allow_untrained: accept untrained networks, with a note.
        notes: notes of the run.

    Raises:
        InputError: the network is untrained and `allow_untrained` is false; or as `describe`.
    """
    if not (folder / DESCRIPTION).is_file() or not describe(folder)["untrained"]:
        return
    if not allow_untrained:
        raise InputError(
            "the network has never been trained, so its scores would be random",
            path=folder / DESCRIPTION,
            fix="train it, or allow it: --allow-untrained or --set scorer.options.allow_untrained=true",
        )
    notes.say(f"'{name}' has never been trained, so its scores are random")
