"""The folder of a training.

run.json       its identity: settings, digests of its data, the number of processes
log.jsonl      a line per step (loss, learning rates, gradient's length) and per validation
checkpoints/   while it runs
model/         the trained network, written by the task
record.json    the training record, written last: with it, the training is finished
test.run       of a fold: its test queries, reranked (`longrank.training.folds`)
manifest.json  a checksum of each of these files, but for checkpoints; absent in trainings of earlier versions

A folder of several trainings, one per fold, holds folds.json.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from longrank.errors import InputError
from longrank.storage import MANIFEST, check_present, digest_of, seal, sealed_files
from longrank.storage.files import sync_file
from longrank.storage.workplace import check_own, read_json, refuse_changed, working_in, write_json

CHECKPOINTS, LOG, MODEL = "checkpoints", "log.jsonl", "model"
TEST_RUN, FOLDS = "test.run", "folds.json"
_RUN, _RECORD = "run.json", "record.json"
_DERIVED = ("run.lineage", "run.learned")  # from other keys; earlier versions left them out, the first for teachers
_FORMAT = "longrank training"


@contextmanager
def begun(folder: Path, identity: Mapping[str, Any]) -> Iterator[None]:
    """Hold the folder of a training alone; create it, or check that it was begun with the same identity.

    Args:
        folder: new, empty, or with a training; the folder above must exist.
        identity: JSON-able; everything that the result depends on.

    Raises:
        InputError: the folder holds something else, was begun with another identity (names the first key that
            differs), is being written by another process, or cannot be written.
    """
    check_begun(folder, identity)
    with working_in(folder):
        check_begun(folder, identity)
        if not (folder / _RUN).exists():
            write_json(folder / _RUN, _begun_with(identity), sort_keys=True)
        _remove_halves(folder)
        yield


def check_begun(folder: Path, identity: Mapping[str, Any]) -> None:
    """Refuse the folders that `begun` refuses; write nothing.

    Raises:
        InputError: as `begun`, except for another process.
        IntegrityError: run.json cannot be read.
    """
    path = folder / _RUN
    if (folder / FOLDS).exists() and not path.exists():
        fix = "give the folds, or choose a new folder"
        raise InputError("was begun with folds", path=folder, fix=fix)
    check_own(folder, "training", begun=path.exists())
    if path.exists():
        then, now = _settings(read_json(path)), _settings(_begun_with(identity))
        for settings in (then, now):
            for key in _DERIVED:
                settings.pop(key, None)
        refuse_changed(path, then, now)


def check_alike(folder: Path, identity: Mapping[str, Any], but: Sequence[str]) -> None:
    """Refuse a training whose settings differ from another fold's.

    Args:
        folder: of the other training; a folder that does not exist refuses nothing.
        identity: of this training.
        but: prefixes of dotted keys that may differ, as `_settings` names them.

    Raises:
        InputError: other keys differ; names the first.
        IntegrityError: run.json of the other training cannot be read.
    """
    path = folder / _RUN
    if path.exists():
        settings = _settings(read_json(path)), _settings(_begun_with(identity))
        other, own = ({k: v for k, v in each.items() if not f"{k}.".startswith(tuple(but))} for each in settings)
        refuse_changed(path, other, own, "all folds need the same settings: give its settings, or choose a new folder")


def begun_run(folder: Path) -> dict[str, Any]:
    """Return the data, the network and the settings of a training; empty if there is no such folder.

    Raises:
        IntegrityError: run.json cannot be read.
    """
    path = folder / _RUN
    found: dict[str, Any] = read_json(path).get("run", {}) if path.exists() else {}
    return found


def check_one_training(folder: Path, folds: Mapping[str, str], but: Sequence[str]) -> None:
    """Refuse trainings of folds that do not belong together: two commands can have begun them at the same time.

    Args:
        folder: of all folds, which are finished.
        folds: fold -> digest of its queries.
        but: as for `check_alike`.

    Raises:
        InputError: a fold was trained on other queries, or with other settings than the first fold.
        IntegrityError: a run.json cannot be read.
    """
    records = {name: read_json(folder / name / _RUN) for name in folds}
    first = next(iter(records.values()))
    for name, record in records.items():
        was, now = {"fold": record.get("run", {}).get("fold")}, {"fold": folds[name]}
        refuse_changed(folder / name / _RUN, was, now, f"delete {folder / name} to train it again")
        check_alike(folder / name, first, but)


def begun_here(folder: Path) -> bool:
    """Tell whether a folder is that of a training, finished or not."""
    return (folder / _RUN).is_file() and read_json(folder / _RUN).get("format") == _FORMAT


def digest_of_beginning(folder: Path) -> str:
    """Return the digest of the identity with which a training was begun; equal settings may be written otherwise."""
    return digest_of(read_json(folder / _RUN))


def finished(folder: Path) -> dict[str, Any] | None:
    """Return the record of a finished training; None if it is not finished.

    Raises:
        IntegrityError: the record cannot be read, or a file was damaged since.
    """
    if not (folder / _RECORD).exists():
        return None
    check_present(folder, "training")
    return read_json(folder / _RECORD)


def finish(folder: Path, record: Mapping[str, Any]) -> None:
    """Write the record, which ends a training, and checksums of its files; remove the checkpoints."""
    sync_file(folder / LOG)  # no power cut leaves the record without the log's last lines
    write_json(folder / _RECORD, record, sort_keys=True)
    seal_training(folder)
    shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)


def seal_training(folder: Path) -> None:
    """Write checksums of the files of a finished training, of one fold or of all."""
    seal(folder, "training", [_RUN, LOG, MODEL, _RECORD, FOLDS, TEST_RUN, f"{TEST_RUN}.evidence"])


def seal_test_run(folder: Path) -> None:
    """Write the checksums again if a test run was the last that a call could write."""
    if TEST_RUN not in sealed_files(folder, "training") and (folder / MANIFEST).exists():
        seal_training(folder)


def _remove_halves(folder: Path) -> None:
    """Remove unfinished files of killed processes; complete what ended a training."""
    for name in (_RUN, _RECORD, LOG, MODEL, TEST_RUN):
        for path in folder.glob(f".{name}.*.tmp"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    if (folder / _RECORD).exists():
        if (folder / CHECKPOINTS).exists() and not (folder / MANIFEST).exists():  # ended right after its record
            seal_training(folder)
        shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)


def _begun_with(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of run.json."""
    return {"format": _FORMAT, **json.loads(json.dumps(identity))}


def _settings(begun_with: Mapping[str, Any]) -> dict[str, Any]:
    """Return all values by their names in the settings' file: `loop.batch`, `samples.depth`, ..."""
    flat = _flat(begun_with)
    return {re.sub(r"^run\.training\.", "", re.sub(r"^settings\.", "loop.", key)): flat[key] for key in flat}


def _flat(value: Any, key: str = "") -> dict[str, Any]:
    """Return the leaves of nested dicts by their dotted keys."""
    if not isinstance(value, dict) or not value:
        return {key: value}
    return {k: v for name, below in value.items() for k, v in _flat(below, f"{key}.{name}" if key else name).items()}
