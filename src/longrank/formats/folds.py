"""Folds of queries for cross-validation, in the shapes of LongRank, Anserini and Capreolus.

    LongRank    {"s1": {"train": [...], "dev": [...], "test": [...]}, ...}
    Capreolus   {"s1": {"train_qids": [...], "predict": {"dev": [...], "test": [...]}}, ...}
    Anserini    [[...], [...], ...]     fold i tests on list i, dev is the next one (cyclic), train all others

With two of Anserini's lists, the train list is empty and settings are chosen on the other list.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

from longrank.errors import InputError
from longrank.formats.ids import check_id
from longrank.formats.jsonl import read_json
from longrank.registries import plain_value
from longrank.storage import atomic_write
from longrank.types import Notes

_PARTS = ("train", "dev", "test")
_SHAPES = 'a fold is {"train": [...], "dev": [...], "test": [...]}; Anserini\'s and Capreolus\' files are read, too'


class Fold(NamedTuple):
    """A split of the queries: ids for training, for the choice of settings, and for testing."""

    train: tuple[str, ...]
    dev: tuple[str, ...]
    test: tuple[str, ...]

    def among(self, query_ids: Container[str]) -> Fold:
        """Return the fold with only the queries that are in `query_ids`."""
        return Fold(*(tuple(query_id for query_id in part if query_id in query_ids) for part in self))


def read_folds(path: Path, notes: Notes) -> dict[str, Fold]:
    """Read folds by name; Anserini's lists are named ``s1``, ``s2``, ...

    Numbers become strings. Repeated ids of a list are kept once, and counted: in Capreolus' GOV2 folds a list of
    75 ids names 34 to 75 queries.

    Args:
        path: a JSON file.
        notes: counts repeated ids.

    Raises:
        InputError: not JSON, none of the three shapes, an empty test list, an id that is not one
            word, or an id in the test list and another list of the same fold.
    """
    return _folds(read_json(path, notes), path, notes)


def open_folds(source: Any, notes: Notes) -> dict[str, Fold]:
    """Return folds from a file, or from values in memory in one of the three shapes; a fold may be a `Fold`.

    Raises:
        InputError: as `read_folds`.
    """
    if isinstance(source, str | Path):
        return read_folds(Path(source), notes)
    if isinstance(source, Mapping):
        source = {name: fold._asdict() if isinstance(fold, Fold) else fold for name, fold in source.items()}
    return _folds(source, Path("folds"), notes)


def _folds(data: Any, path: Path, notes: Notes) -> dict[str, Fold]:
    if not isinstance(data, dict | list) or not data:
        raise InputError("holds no folds", path=path, fix=_SHAPES)
    if isinstance(data, list):
        raw: Mapping[str, Sequence[Any]] = _rotated(data, path)
    else:
        raw = {name: _parts(name, value, path, notes) for name, value in data.items()}
    return {name: _fold(name, parts, path, notes) for name, parts in raw.items()}


def write_folds(folds: Mapping[str, Fold], path: Path) -> None:
    """Write folds in LongRank's shape; `read_folds` returns the same folds.

    Raises:
        InputError: the folder does not exist or cannot be written to.
        LongRankError: writing failed (no space left, ...).
    """
    with atomic_write(path, "w") as stream:
        stream.write(folds_text(folds))


def folds_text(folds: Mapping[str, Fold]) -> str:
    """Return the text that `write_folds` writes."""
    return json.dumps({name: fold._asdict() for name, fold in folds.items()}, indent=1, ensure_ascii=False) + "\n"


def _rotated(lists: Sequence[Any], path: Path) -> dict[str, list[Any]]:
    """Return name -> [train, dev, test] for Anserini's lists: each list is the test list of one fold."""
    n = len(lists)
    if n < 2 or not all(isinstance(ids, list | tuple) for ids in lists):
        raise InputError("folds are not two or more lists of ids", path=path, fix=_SHAPES)
    train = [[x for j in range(n) if j not in (i, (i + 1) % n) for x in lists[j]] for i in range(n)]
    return {f"s{i + 1}": [train[i], lists[(i + 1) % n], lists[i]] for i in range(n)}


def _parts(name: str, value: Any, path: Path, notes: Notes) -> list[Any]:
    """Return [train, dev, test] of a fold in the shape of LongRank or Capreolus."""
    if isinstance(value, dict) and "train_qids" in value and isinstance(value.get("predict"), dict):
        value = {"train": value["train_qids"], **value["predict"]}
    if not isinstance(value, dict) or not set(_PARTS) <= value.keys():
        raise InputError(f"fold '{name}' has not a train, a dev and a test list", path=path, fix=_SHAPES)
    others = sorted(map(str, value.keys() - {*_PARTS, "train_qids", "predict"}))
    for other in others:
        notes.add("lists of folds other than train, dev and test, left out", f"{path}: {name}.{other}")
    return [value[part] for part in _PARTS]


def _fold(name: str, parts: Sequence[Any], path: Path, notes: Notes) -> Fold:
    train, dev, test = (_ids(f"{name}.{part}", value, path, notes) for part, value in zip(_PARTS, parts, strict=True))
    if not test:
        raise InputError(f"fold '{name}' has an empty test list", path=path)
    leaked = next((query_id for query_id in (*train, *dev) if query_id in set(test)), None)
    if leaked is not None:
        raise InputError(f"fold '{name}' has a test query that is also in its train or dev list", path=path, got=leaked)
    return Fold(train, dev, test)


def _ids(place: str, value: Any, path: Path, notes: Notes) -> tuple[str, ...]:
    """Return the ids of a list, or the keys of an object (Capreolus lets ``dev`` name grades, too), once each."""
    value = plain_value(value)
    if not isinstance(value, list | tuple | dict):
        raise InputError(f"{place} is not a list of query ids", path=path, got=value)
    for item in value:
        if not isinstance(item, str | Integral) or isinstance(item, bool):
            raise InputError(f"{place} holds a value that is not a query id", path=path, got=item)
    ids = [check_id(str(item), f"an id of {place}", path) for item in value]
    notes.add("repeated query ids in folds", f"{path}: {place}", len(ids) - len(set(ids)))
    return tuple(dict.fromkeys(ids))
