"""Read which trainings the weights in a model's folder have had; no torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.networks.checks import read_json

DESCRIPTION = "longrank.json"
"""Description of a document network, with the record of its training; see `longrank.models.description`."""

TRAINED = "training.json"
"""Record of the training, in folders of transformers models that LongRank trained."""

LINEAGE_FILE = "lineage.json"
"""Earlier trainings of the weights, in folders that `longrank convert` wrote."""

_TRAINING = ("qrels", "fold", "learned")
"""Keys of a training in a lineage: `longrank.training.learned_queries` has the last."""


def lineage_of(folder: Path) -> list[Mapping[str, str]]:
    """Return the trainings of the weights in a model's folder, oldest first: digests of qrels, fold and queries.

    Document networks, passage models that LongRank trained, and converted models know them; other models have none.
    """
    described, run = _optional(folder / DESCRIPTION) or _optional(folder / LINEAGE_FILE), run_of(folder)
    own = {key: run[key] for key in _TRAINING if key in run}
    return [training for training in (*_listed(described), *_listed(run), own) if _is_training(training)]


def united(*lineages: Iterable[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """Return the trainings of several lineages: of each, those that no earlier lineage has."""
    trainings: list[Mapping[str, str]] = []
    for lineage in lineages:
        trainings += [training for training in lineage if training not in trainings]
    return trainings


def run_of(folder: Path) -> dict[str, Any]:
    """Return data and settings of the training of the weights in a folder; empty if LongRank did not train them."""
    description = folder / DESCRIPTION
    record = _optional(description).get("record") if description.is_file() else _optional(folder / TRAINED)
    run = record.get("run") if isinstance(record, dict) else None
    return run if isinstance(run, dict) else {}  # other programs' files may have these names


def read_otherwise(run: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield setting and value of a training that reads otherwise than `now`; None in `now` is not compared.

    Args:
        run: of `run_of`.
        now: settings of a training's section ``read``.
    """
    training = run.get("training")
    then = (training.get("read") or {}) if isinstance(training, dict) else {}
    for key, value in now.items():
        if value is not None and then.get(key) not in (None, value):
            yield key, then[key]


def _listed(found: dict[str, Any]) -> list[Any]:
    lineage = found.get("lineage")
    return lineage if isinstance(lineage, list) else []


def _is_training(found: Any) -> bool:
    named = isinstance(found, dict) and {"qrels", "fold"} <= found.keys()
    return named and all(isinstance(value, str) for value in found.values())


def _optional(path: Path) -> dict[str, Any]:
    """Return a JSON object; empty if there is none, or a file of another kind, which other programs may have written.

    Damage of files that LongRank wrote is noticed by the checksums in their folder.
    """
    try:
        return read_json(path) if path.is_file() else {}
    except InputError:
        return {}
