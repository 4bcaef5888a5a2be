"""The folder of an index on disk; a new index replaces an old index in a single step.

    INDEX/manifest.json     names the valid data folder; replaced atomically, after all other files
    INDEX/data-<digest>/    the index; its own manifest lists size and SHA-256 of every file
    INDEX/vectors/          passage vectors, if any, each with a manifest of its own
    INDEX/.building-*       a build in progress, or the remains of a killed build

The old index stays valid until the manifest is replaced; from then on the new index is valid. A data folder is named
by its content, so equal builds give equal folders.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from longrank.errors import InputError, IntegrityError, LongRankError
from longrank.small_files import RECORD, read_small
from longrank.storage import (
    MANIFEST,
    atomic_write,
    check_parent,
    digest_of,
    open_manifest,
    sha256_of,
    sync_folder,
    verify,
)
from longrank.storage import write_manifest as write_folder_manifest
from longrank.storage.workplace import LOCK, working_in

FORMAT = "longrank index"
VERSION = 2
VECTORS = "vectors"
_DATA, _BUILDING = "data-", ".building-"


def folder_path(folder: object) -> Path:
    """Return the path of an index folder.

    Raises:
        InputError: not a path.
    """
    if not isinstance(folder, str | Path) or not str(folder):
        raise InputError("an index is a folder", got=folder, fix="give its path")
    return Path(folder)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of an index folder.

    Raises:
        InputError: no such folder, an empty folder, or a folder that is no index.
        IntegrityError: unreadable, or written by another version of the format.
    """
    path = folder / MANIFEST
    if not folder.is_dir():
        raise InputError("no such index", path=folder, fix="build it: longrank index SOURCE -o INDEX")
    if not path.is_file():
        raise InputError("is not an index, or its build never finished", path=folder, fix="longrank index builds one")
    try:
        manifest = json.loads(read_small(path, RECORD, "manifests"))
    except (ValueError, RecursionError) as error:
        raise IntegrityError(f"{path}: cannot be read ({error})") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError("is a folder with other content, not an index", path=folder)
    if manifest.get("version") != VERSION:
        raise IntegrityError(
            f"{path}: index format {manifest.get('version')}, this longrank reads {VERSION}; rebuild or upgrade"
        )
    if not isinstance(manifest.get("data"), str):
        raise IntegrityError(f"{path}: names no data; the file is damaged")
    return manifest


def open_data(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Return the valid data folder of an index and its manifest, with the sizes of all files checked.

    Raises:
        InputError, IntegrityError: as `read_manifest`; a file is missing or of another size.
    """
    name = read_manifest(folder)["data"]
    try:
        verify(folder)  # one small file: the manifest of the data
        return folder / name, open_manifest(folder / name)
    except (IntegrityError, InputError, FileNotFoundError):
        if read_manifest(folder)["data"] != name:  # it was replaced meanwhile
            return open_data(folder)
        raise


def verify_index(folder: Path) -> int:
    """Compare every file of an index, its vectors included, with its checksum; return the number of files.

    Raises:
        InputError: not an index.
        IntegrityError: names the first damaged file.
    """
    data, _ = open_data(folder)
    vectors = sorted(path.parent for path in (folder / VECTORS).glob(f"*/{MANIFEST}"))
    return sum(map(verify, [folder, data, *vectors]))


@contextmanager
def building(folder: Path) -> Iterator[Path]:
    """Lock an index folder for writing and yield a new work folder inside it.

    Creates the folder if need be, and removes the remains of killed builds. The work folder is always removed at the
    end, and so is the index folder if it was made here and is empty.

    Raises:
        InputError: `folder` exists and is not an index, its parent does not exist or is read-only,
            or another process is writing to it.
    """
    _refuse_other(folder)
    with working_in(folder, keep_lock_with=MANIFEST):
        _remove_leftovers(folder)
        work = Path(tempfile.mkdtemp(prefix=_BUILDING, dir=folder))
        try:
            yield work
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _refuse_other(folder: Path) -> None:
    if not folder.exists():
        check_parent(folder, folder.parent)
        return
    if not folder.is_dir():
        raise InputError("is a file; an index is a folder", path=folder)
    if not os.access(folder, os.W_OK):
        raise InputError("cannot be written to", path=folder)
    if any(not _is_ours(path.name) for path in folder.iterdir()):
        raise InputError("exists and is not an index", path=folder, fix="choose another folder, or empty it")
    if (folder / MANIFEST).exists():
        with suppress(IntegrityError):  # damaged, or of another version: the new index replaces it
            read_manifest(folder)


def _is_ours(name: str) -> bool:
    temporary = name.startswith(f".{MANIFEST}.")
    return name in (MANIFEST, VECTORS, LOCK) or name.startswith((_DATA, _BUILDING)) or temporary


def _remove_leftovers(folder: Path) -> None:
    """Remove data that no manifest names; data stays if its manifest cannot be read."""
    valid = _valid_data(folder) if (folder / MANIFEST).exists() else ""
    for path in folder.iterdir():
        if path.name.startswith(f".{MANIFEST}."):
            path.unlink()
        elif path.name.startswith(_BUILDING) or (path.name.startswith(_DATA) and valid not in (None, path.name)):
            _remove_tree(path)


def _remove_tree(path: Path) -> None:
    """Remove a folder, even while a worker of a killed build writes its last file there."""
    for _ in range(10):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
        time.sleep(0.1)
    raise LongRankError(f"cannot remove {path}")


def _valid_data(folder: Path) -> str | None:
    try:
        return str(read_manifest(folder)["data"])
    except (InputError, IntegrityError):
        return None


def publish(work: Path, folder: Path, meta: Mapping[str, Any]) -> None:
    """Make the finished files in `work` the index in `folder`; call it inside `building`.

    Raises:
        LongRankError: writing failed; says whether the old or the new index is valid.
    """
    with _telling_state(folder):
        replaced = _put_in_place(work, folder, meta)
    _remove_leftovers(folder)
    if replaced:
        discard(folder / VECTORS, folder)  # vectors of other documents


def _put_in_place(work: Path, folder: Path, meta: Mapping[str, Any]) -> bool:
    """Write the manifest of the finished files, and then the manifest that names them; tell if they replace others."""
    data = folder / (_DATA + digest_of(write_folder_manifest(work, meta))[:16])
    replaced = _valid_data(folder) != data.name if (folder / MANIFEST).exists() else False
    if not _is_intact(data):
        shutil.rmtree(data, ignore_errors=True)
        work.rename(data)
    sync_folder(folder)
    inner = data / MANIFEST
    entry = {"size": inner.stat().st_size, "sha256": sha256_of(inner)}
    manifest = {"format": FORMAT, "version": VERSION, "data": data.name, "files": {f"{data.name}/{MANIFEST}": entry}}
    with atomic_write(folder / MANIFEST, "w") as stream:
        json.dump(manifest, stream, indent=1, sort_keys=True)
        stream.write("\n")
    return replaced


@contextmanager
def _telling_state(folder: Path) -> Iterator[None]:
    """Add to the message of a failed write which index is valid now."""
    before = _named_data(folder)
    try:
        yield
    except (OSError, LongRankError) as error:
        what = f"cannot write {folder}: {error.strerror or error}" if isinstance(error, OSError) else str(error)
        valid = _named_data(folder)
        state = "there is no index" if not valid else f"the {'old' if valid == before else 'new'} index is valid"
        raise LongRankError(f"{what}; {state}") from error


def _named_data(folder: Path) -> str | None:
    return _valid_data(folder) if (folder / MANIFEST).exists() else None


def discard(path: Path, folder: Path) -> None:
    """Remove a folder inside the index `folder`; after a kill it is whole or the remains of a build."""
    if path.exists():
        doomed = Path(tempfile.mkdtemp(prefix=_BUILDING, dir=folder))
        path.rename(doomed / path.name)
        shutil.rmtree(doomed, ignore_errors=True)


def _is_intact(data: Path) -> bool:
    try:
        return verify(data) > 0
    except (InputError, IntegrityError):
        return False
