"""The guard of an output: refuse a folder of something else, lock it, and resume only what was begun alike.

A folder is locked by ``.lock`` inside it, a file ``NAME`` by ``.NAME.lock`` beside it. The lock file is removed at the
end; one that a killed process has left is free.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from longrank.errors import InputError, IntegrityError, LongRankError
from longrank.small_files import RECORD, check_path, read_small
from longrank.storage.files import atomic_write, check_folder, check_writable, sync_folder
from longrank.storage.locks import lock
from longrank.storage.manifests import read_manifest

LOCK = ".lock"
RESUME = "give the old settings to resume, or choose a new folder"
_MAX_SHOWN = 500  # characters of a setting that differs


def check_apart(output: Path, *inputs: Path | str | None) -> None:
    """Refuse an output, a file or a folder, that is an input or lies inside an input, such as an index.

    Args:
        output: the file or folder to write.
        inputs: files and folders to read; None and ``""`` do not count.

    Raises:
        InputError: the output is an input or lies inside one.
    """
    places = {_place(os.path.realpath(place)) for place in inputs if place}  # Path.resolve fails on a link to itself
    own = os.path.realpath(output)
    if _place(own) in places:
        raise InputError("is also an input and would be overwritten", path=output, fix="choose another output")
    if places.intersection(map(_place, map(str, Path(own).parents))):
        raise InputError("lies inside an input", path=output, fix="choose another output")


def check_outside(output: Path | str, but: Path | str | None = None) -> None:
    """Refuse an output, a file or a folder, that lies inside a finished folder: an index, a model or a result.

    Args:
        output: the file or folder to write.
        but: a folder that may hold it: the command's own.

    Raises:
        InputError: the output lies inside a folder that holds a manifest of LongRank or a model, or its name is none.
    """
    own = None if but is None else _place(os.path.realpath(but))
    try:
        folders = Path(os.path.realpath(output)).parents
        finished = [one for one in folders if _place(str(one)) != own and (_is_sealed(one) or _is_model(one))]
    except (OSError, ValueError) as error:  # too long, or with a zero byte
        raise InputError(f"cannot be written: {getattr(error, 'strerror', None) or error}", path=output) from None
    if finished:
        what = f"lies inside {finished[0]}, a finished folder of an index, a model or a result"
        raise InputError(what, path=output, fix="choose an output outside it")


def _is_sealed(folder: Path) -> bool:
    """Tell whether a folder has a manifest of LongRank; a damaged one does not count.

    The folder of a reproduction does not count either: the commands of its recipe write into it, again if need be.
    """
    try:
        kind = str(read_manifest(folder).get("format"))
    except (InputError, IntegrityError):
        return False
    return kind.startswith("longrank ") and kind != "longrank reproduction"


def _is_model(folder: Path) -> bool:
    config = folder / "config.json"
    check_path(config)
    return config.is_file() and any(folder.glob("*.safetensors"))


def _place(path: str) -> object:
    """Return what names a file or folder once: names may differ in their case or be bound twice; its path if absent."""
    try:
        status = os.stat(path)  # noqa: PTH116 - Path fails on odd names
    except (OSError, ValueError):
        return path
    return status.st_dev, status.st_ino


def check_own(folder: Path, kind: str, *, begun: bool) -> None:
    """Refuse a folder that cannot be written to, or that holds something else; write nothing.

    Args:
        folder: absent, empty or begun earlier; the folder above must exist.
        kind: noun for what belongs in the folder, such as ``"training"``; hidden files do not count then. Empty: only
            an empty folder will do.
        begun: whether the folder holds the file that marks an earlier beginning.

    Raises:
        InputError: the folder holds something else, or cannot be written to.
    """
    check_folder(folder)
    if not begun and folder.is_dir() and any(path.name[0] != "." or not kind for path in folder.iterdir()):
        what = f"is not empty and holds no {kind}" if kind else "is not empty"
        raise InputError(what, path=folder, fix="choose a new folder")


@contextmanager
def working_in(folder: Path, *, keep_lock_with: str = "", worthless: Collection[str] = ()) -> Iterator[None]:
    """Create a folder if need be and lock it; remove it at the end if it was created here and holds nothing.

    Args:
        folder: checked before; the folder above must exist.
        keep_lock_with: name of a file; if it exists at the end, the lock file stays, emptied.
        worthless: names of files that are removed with the folder if it holds nothing else.

    Raises:
        InputError: another process works in the folder.
        LongRankError: the folder cannot be created.
    """
    created = not folder.exists()
    if created:
        create(folder)
    with lock(folder / LOCK):
        try:
            yield
        finally:
            _leave(folder, created, keep_lock_with, worthless)


def create(folder: Path) -> None:
    """Create a folder, if it is absent, whose name survives a power cut.

    Raises:
        LongRankError: it cannot be created.
    """
    try:
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)
    except OSError as error:
        with suppress(OSError):
            folder.rmdir()
        raise LongRankError(f"cannot write {folder}: {error.strerror or error}") from error


def _leave(folder: Path, created: bool, keep_lock_with: str, worthless: Collection[str]) -> None:
    if keep_lock_with and (folder / keep_lock_with).exists():
        (folder / LOCK).write_bytes(b"")
        return
    (folder / LOCK).unlink()
    if created and {path.name for path in folder.iterdir()} <= set(worthless):
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


@contextmanager
def working_on(path: Path) -> Iterator[None]:
    """Lock a file that may not exist yet, whichever links lead to it.

    Raises:
        InputError: another process writes the file, or it cannot be written.
    """
    check_writable(path)
    real = Path(os.path.realpath(path))
    beside = real.with_name(f".{real.name}.lock")
    with lock(beside):
        try:
            yield
        finally:
            beside.unlink(missing_ok=True)


def write_json(path: Path, value: object, *, sort_keys: bool = False) -> None:
    """Write a JSON file that is whole or as it was before."""
    with atomic_write(path, "w") as stream:
        json.dump(value, stream, indent=1, sort_keys=sort_keys, ensure_ascii=False)
        stream.write("\n")


def read_json(path: Path, cure: str = "restore the file") -> dict[str, Any]:
    """Read a JSON object that LongRank wrote.

    Raises:
        IntegrityError: the file cannot be read; the message ends with `cure`.
    """
    try:
        value = json.loads(read_small(path, RECORD, "records"))
    except (OSError, ValueError, RecursionError, InputError) as error:
        raise IntegrityError(f"{path}: cannot be read ({error}); {cure}") from error
    if not isinstance(value, dict):
        raise IntegrityError(f"{path}: cannot be read (no JSON object); {cure}")
    return value


def refuse_changed(path: Path, begun: Mapping[str, Any], now: Mapping[str, Any], fix: str = RESUME) -> None:
    """Refuse to resume an output that was begun with other settings.

    Args:
        path: the output, or the file that holds its identity.
        begun: settings at the beginning.
        now: settings of this call.
        fix: cure for the message.

    Raises:
        InputError: the settings differ; names the first key that does, and of two fingerprints that differ in their
            options only the first such option.
    """
    for key in dict.fromkeys([*now, *begun]):
        if begun.get(key) != now.get(key):
            then, today = map(_short, _first_option(begun.get(key), now.get(key)))
            raise InputError(f"was begun with other {key}: {then} then, {today} now", path=path, fix=fix)


_OPTION = re.compile(r"\b\w+=[^,()|]*")


def _first_option(then: Any, now: Any) -> tuple[Any, Any]:
    """Return the first ``name=value`` that differs, if two texts differ in such options only; else both values."""
    if isinstance(then, str) and isinstance(now, str) and _OPTION.sub("=", then) == _OPTION.sub("=", now):
        pairs = zip(_OPTION.findall(then), _OPTION.findall(now), strict=True)
        return next(pair for pair in pairs if pair[0] != pair[1])
    return then, now


def _short(value: object) -> str:
    """Return a setting as JSON of limited length, SHA-256 digests shortened."""
    text = re.sub(r"\b([0-9a-f]{12})[0-9a-f]{52}\b", r"\1...", json.dumps(value, ensure_ascii=False))
    return f"{text[:_MAX_SHOWN]}..." if len(text) > _MAX_SHOWN else text
